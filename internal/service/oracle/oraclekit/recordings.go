package oraclekit

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/plugin"
)

// Recordings keeps the sound of calls as resumable uploads of the file store's
// HTTP surface. Each step carries an invocation of the oracle for the folder of
// recordings alone, with the caller's delegation as proof: the store decides.
func Recordings(surface httpserver.Surface, access Access) (call.Archive, error) {
	handler, err := alone(surface, "/api/fs/upload")
	if err != nil {
		return nil, err
	}
	return recordings{client: &http.Client{Transport: inProcess{handler}}, access: access}, nil
}

type recordings struct {
	client *http.Client
	access Access
}

var _ call.Archive = recordings{}

const (
	uploadsURL      = "http://castalia.internal/api/fs/upload"
	recordingFolder = "/recordings/"
)

// ask does one step of an upload.
func (r recordings) ask(ctx context.Context, p call.Place, method, ref string, body []byte,
	headers map[string]string,
) (http.Header, error) {
	token, err := r.access.Authority(p.Owner, p.Brought).Invoke(ctx, r.access.Identity.DID(),
		plugin.Capability{Can: "fs/write", With: identity.FileResource(p.Owner, recordingFolder)}, tokenTTL)
	if errors.Is(err, plugin.ErrNoDelegation) {
		return nil, call.ErrNoGrant
	}
	if err != nil {
		return nil, fmt.Errorf("mint for recording: %w", err)
	}
	url := uploadsURL
	if ref != "" {
		url += "/" + ref
	}
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make upload request: %w", err)
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Tus-Resumable", "1.0.0")
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask file store: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode >= http.StatusMultipleChoices {
		return nil, refusal(resp)
	}
	return resp.Header, nil
}

// refusal is what the store said, as a call says it.
func refusal(resp *http.Response) error {
	var said struct{ Message string }
	if data, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10)); err == nil {
		_ = json.Unmarshal(data, &said) // the status alone must do otherwise
	}
	cause := fmt.Errorf("the file store answered %d: %s", resp.StatusCode, said.Message)
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return call.ErrNoGrant
	case http.StatusNotFound, http.StatusGone:
		return call.ErrRecordingGone
	case http.StatusConflict:
		return fault.Wrap(fault.Conflict, "The recording went on elsewhere", cause)
	case http.StatusRequestEntityTooLarge:
		return fault.Wrap(fault.TooLarge, "The recording is too large for the file store", cause)
	case http.StatusInsufficientStorage:
		return fault.Wrap(fault.StorageFull, "There is no room left in your files", cause)
	}
	return fault.Wrap(fault.Unavailable, "The file store does not answer", cause)
}

// Begin implements call.Archive.
func (r recordings) Begin(ctx context.Context, p call.Place) (string, error) {
	b64 := base64.StdEncoding.EncodeToString
	head, err := r.ask(ctx, p, http.MethodPost, "", nil, map[string]string{
		"Upload-Defer-Length": "1",
		"Upload-Metadata":     "path " + b64([]byte(p.Path)) + ",contentType " + b64([]byte(p.Media())),
	})
	if err != nil {
		return "", err
	}
	location := head.Get("Location")
	ref := location[strings.LastIndexByte(location, '/')+1:]
	if ref == "" {
		return "", errors.New("the file store named no upload")
	}
	return ref, nil
}

// progress is how far an upload is.
type progress struct {
	bytes    int64
	measured bool // its length was declared
	file     bool
}

func (r recordings) look(ctx context.Context, p call.Place, ref string) (at progress, err error) {
	head, err := r.ask(ctx, p, http.MethodHead, ref, nil, nil)
	if err != nil {
		return at, err
	}
	at.measured, at.file = head.Get("Upload-Length") != "", head.Get("X-Vfs-File-Id") != ""
	at.bytes, err = strconv.ParseInt(head.Get("Upload-Offset"), 10, 64)
	return at, err
}

// Append implements call.Archive.
func (r recordings) Append(ctx context.Context, p call.Place, ref string, at int64, data []byte) error {
	err := r.append(ctx, p, ref, at, data)
	if !fault.Is(err, fault.Conflict) {
		return err
	}
	// An earlier attempt may have been stored although it seemed to fail.
	is, lookErr := r.look(ctx, p, ref)
	if lookErr != nil {
		return lookErr
	}
	switch more := is.bytes - at; {
	case is.measured || more <= 0 || more > int64(len(data)):
		return err
	case more == int64(len(data)):
		return nil
	default:
		return r.append(ctx, p, ref, is.bytes, data[more:])
	}
}

func (r recordings) append(ctx context.Context, p call.Place, ref string, at int64, data []byte) error {
	head, err := r.ask(ctx, p, http.MethodPatch, ref, data, map[string]string{
		"Content-Type": "application/offset+octet-stream", "Upload-Offset": strconv.FormatInt(at, 10),
	})
	if err != nil {
		return err
	}
	if want := strconv.FormatInt(at+int64(len(data)), 10); head.Get("Upload-Offset") != want { // not all of it was taken
		return fault.Newf(fault.Conflict, "The recording is at %s", head.Get("Upload-Offset"))
	}
	return nil
}

// Finish implements call.Archive.
func (r recordings) Finish(ctx context.Context, p call.Place, ref string) (bool, error) {
	is, err := r.look(ctx, p, ref)
	switch {
	case err != nil || is.file:
		return is.file, err
	case is.bytes == 0:
		_, err = r.ask(ctx, p, http.MethodDelete, ref, nil, nil)
		return false, err
	}
	size := strconv.FormatInt(is.bytes, 10)
	headers := map[string]string{"Content-Type": "application/offset+octet-stream", "Upload-Offset": size}
	if !is.measured {
		headers["Upload-Length"] = size
	}
	_, err = r.ask(ctx, p, http.MethodPatch, ref, nil, headers)
	return err == nil, err
}
