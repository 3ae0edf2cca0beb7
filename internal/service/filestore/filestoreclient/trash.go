package filestoreclient

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
)

// Trash lists all that is in the trash.
func (c *Client) Trash(ctx context.Context) ([]File, error) {
	return c.pages(ctx, "/trash", url.Values{})
}

// Restore takes a file out of the trash.
func (c *Client) Restore(ctx context.Context, id string) (File, error) {
	var f File
	err := c.call(ctx, request{method: http.MethodPost, path: api + "/files/" + url.PathEscape(id) + "/restore"}, &f)
	return f, err
}

// RestoreVersion makes the content of an old version the newest one.
func (c *Client) RestoreVersion(ctx context.Context, path string, version int64) (File, error) {
	f, err := c.Stat(ctx, path)
	if err != nil {
		return File{}, err
	}
	err = c.call(ctx, request{method: http.MethodPost, path: fmt.Sprintf("%s/files/%s/versions/%d/restore", api, f.ID, version)}, &f)
	return f, err
}

// Purge destroys a file that is in the trash.
func (c *Client) Purge(ctx context.Context, id string) error {
	var out filestorehttp.BatchResult
	if err := c.post(ctx, api+"/batch/purge", filestorehttp.IDList{IDs: []string{id}}, &out); err != nil {
		return err
	}
	for _, r := range out.Results {
		if !r.OK {
			return &StatusError{Status: r.Status, Message: r.Error}
		}
	}
	return nil
}
