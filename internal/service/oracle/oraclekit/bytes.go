package oraclekit

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/plugin"
)

// BytesOverHTTP makes Access.BytesFor of the file store's HTTP surface, with
// the same kind of token as the store's tools get.
func BytesOverHTTP(surface httpserver.Surface, serviceDID string) (func(context.Context, plugin.Authority, string,
	int64) ([]byte, error), error,
) {
	handler, err := alone(surface, "/api/fs/cid/{cid}")
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: inProcess{handler}}
	return func(ctx context.Context, authority plugin.Authority, cid string, limit int64) ([]byte, error) {
		var out []byte
		err := (&files{audience: serviceDID, authority: authority}).try(ctx, func(token string) error {
			var err error
			out, err = readByCID(ctx, client, token, cid, limit)
			return err
		}, elsewhere)
		return out, err
	}, nil
}

// readByCID reads the first bytes of a file.
func readByCID(ctx context.Context, client *http.Client, token, cid string, limit int64) ([]byte, error) {
	u := url.URL{Scheme: "http", Host: "castalia.internal", Path: "/api/fs/cid/" + cid}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, plugin.Errorf(http.StatusBadRequest, "that is not a CID")
	}
	req.Header.Set("Authorization", "Bearer "+token)
	// The response is held in memory: only what is wanted may come.
	req.Header.Set("Range", fmt.Sprintf("bytes=0-%d", limit-1))
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("read file: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	switch resp.StatusCode {
	case http.StatusOK, http.StatusPartialContent:
		out := make([]byte, min(limit, max(resp.ContentLength, 0))) // the response is whole
		if _, err := io.ReadFull(resp.Body, out); err != nil {
			return nil, fmt.Errorf("read file: %w", err)
		}
		return out, nil
	case http.StatusRequestedRangeNotSatisfiable: // an empty file has no first byte
		return nil, nil
	}
	return nil, plugin.Errorf(resp.StatusCode, "the file store answered %d", resp.StatusCode)
}
