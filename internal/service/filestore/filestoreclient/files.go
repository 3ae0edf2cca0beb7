package filestoreclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
)

const api = "/api/fs"

func at(path string) url.Values { return url.Values{"path": {path}} }

// Stat describes the file at a path.
func (c *Client) Stat(ctx context.Context, path string) (File, error) {
	var f File
	err := c.call(ctx, request{method: http.MethodGet, path: api + "/stat", query: at(path)}, &f)
	return f, err
}

// Tree lists the direct children of a folder.
func (c *Client) Tree(ctx context.Context, folder string) ([]filestorehttp.Node, error) {
	var all []filestorehttp.Node
	q := at(folder)
	q.Set("limit", "2000")
	for {
		var page filestorehttp.NodeList
		if err := c.call(ctx, request{method: http.MethodGet, path: api + "/tree", query: q}, &page); err != nil {
			return nil, err
		}
		if all = append(all, page.Nodes...); page.Next == "" {
			return all, nil
		}
		q.Set("after", page.Next)
	}
}

// Under lists every file below a folder.
func (c *Client) Under(ctx context.Context, folder string) ([]File, error) {
	return c.pages(ctx, "/files", at(folder))
}

// Made lists the folders at and below a path that stay when they are empty, in path order.
func (c *Client) Made(ctx context.Context, folder string) ([]string, error) {
	const limit = 1000
	var all []string
	q := at(folder)
	q.Set("limit", strconv.Itoa(limit))
	for {
		var page filestorehttp.FolderList
		if err := c.call(ctx, request{method: http.MethodGet, path: api + "/folders", query: q}, &page); err != nil {
			return nil, err
		}
		for _, f := range page.Folders {
			all = append(all, f.Path)
		}
		if len(page.Folders) < limit {
			return all, nil
		}
		q.Set("after", all[len(all)-1])
	}
}

// pages reads a listing to its end.
func (c *Client) pages(ctx context.Context, route string, q url.Values) ([]File, error) {
	const limit = 200
	q.Set("limit", strconv.Itoa(limit))
	var all []File
	for {
		var page filestorehttp.FileList
		switch {
		case len(all) == 0:
		case route == "/trash": // it is not in the order of paths
			q.Set("offset", strconv.Itoa(len(all)))
		default:
			q.Set("after", all[len(all)-1].Path)
		}
		if err := c.call(ctx, request{method: http.MethodGet, path: api + route, query: q}, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Files...)
		if len(page.Files) < limit {
			return all, nil
		}
	}
}

// Get writes the content of the file at a path to w, or of an old version, and
// checks its CID. What was written before a failure must not be used.
func (c *Client) Get(ctx context.Context, path string, version int64, w io.Writer) (File, error) {
	q := request{method: http.MethodGet, path: api + "/content", query: at(path)}
	if version > 0 {
		f, err := c.Stat(ctx, path)
		if err != nil {
			return File{}, err
		}
		q = request{method: http.MethodGet, path: fmt.Sprintf("%s/files/%s/versions/%d/content", api, f.ID, version)}
	}
	return c.fetch(ctx, q, path, w)
}

// GetCID writes the content with a CID to w, and checks it. What was written before a
// failure must not be used.
func (c *Client) GetCID(ctx context.Context, want cid.CID, w io.Writer) (File, error) {
	f, err := c.fetch(ctx, request{method: http.MethodGet, path: api + "/cid/" + want.String()}, want.String(), w)
	if err == nil && f.CID != want.String() {
		return File{}, fmt.Errorf("fetch %s: %w: the server sent %s", want, ErrOther, f.CID)
	}
	return f, err
}

// fetch writes the answer to w and checks the CID that the server says.
func (c *Client) fetch(ctx context.Context, q request, path string, w io.Writer) (File, error) {
	res, err := c.do(ctx, q)
	if err != nil {
		return File{}, err
	}
	defer func() { _ = res.Body.Close() }()
	f := File{
		Path: path, ID: res.Header.Get("X-Vfs-File-Id"), CID: res.Header.Get("X-Vfs-Cid"), ContentHash: res.Header.Get("X-Vfs-Content-Hash"),
		MimeType: res.Header.Get("Content-Type"),
	}
	f.Version, _ = strconv.ParseInt(res.Header.Get("X-Vfs-Version"), 10, 64)
	state := cid.NewState(true)
	if err := state.Scan(io.TeeReader(res.Body, w), cid.Options{}); err != nil {
		return File{}, fmt.Errorf("fetch %s: %w", path, err)
	}
	got := state.Finish()
	f.Size = got.Size
	if got.CID.String() != f.CID {
		return File{}, fmt.Errorf("fetch %s: the bytes have the CID %s, the server says %s", path, got.CID, f.CID)
	}
	return f, nil
}

// Continue fetches what part does not have yet of the file as it was described:
// part holds the beginning, from an earlier call that was cut. It checks the CID
// of the whole; ErrOther says that part is of no use.
func (c *Client) Continue(ctx context.Context, f File, part io.ReadWriter, progress func(done int64)) error {
	state := cid.NewState(true)
	if err := state.Scan(part, cid.Options{}); err != nil {
		return fmt.Errorf("read what is there of %s: %w", f.Path, err)
	}
	progress(state.Offset())
	if state.Offset() < f.Size {
		res, err := c.do(ctx, request{
			method: http.MethodGet, path: api + "/files/" + f.ID + "/content",
			header: map[string]string{"Range": fmt.Sprintf("bytes=%d-", state.Offset()), "If-Match": strconv.Quote(f.CID)},
		})
		if err != nil {
			return err
		}
		defer func() { _ = res.Body.Close() }()
		if res.StatusCode != http.StatusPartialContent && state.Offset() > 0 {
			return fmt.Errorf("fetch %s: the server does not go on in the middle", f.Path)
		}
		from := state.Offset()
		body := io.TeeReader(res.Body, io.MultiWriter(part, counter(func(n int64) { progress(from + n) })))
		if err := state.Scan(body, cid.Options{}); err != nil {
			return fmt.Errorf("fetch %s: %w", f.Path, err)
		}
	}
	if got := state.Finish().CID.String(); got != f.CID {
		return fmt.Errorf("fetch %s: %w: the bytes have the CID %s, the server says %s", f.Path, ErrOther, got, f.CID)
	}
	return nil
}

// ErrOther says that what was fetched is not what was asked for.
var ErrOther = errors.New("other content")

// counter tells how many bytes were written so far.
func counter(tell func(n int64)) io.Writer { return &counting{tell: tell} }

type counting struct {
	n    int64
	tell func(n int64)
}

func (c *counting) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	c.tell(c.n)
	return len(p), nil
}

// Put stores content of a known length at a path, creating or replacing. want is
// its CID, or the zero value when it is not known.
func (c *Client) Put(ctx context.Context, path, mime string, body io.Reader, size int64, want cid.CID) (File, error) {
	var f File
	err := c.call(ctx, request{
		method: http.MethodPut, path: api + "/content", query: at(path), body: body, length: size,
		header: map[string]string{"Content-Type": mime},
	}, &f)
	if err != nil {
		return File{}, err
	}
	return f, check(f.CID, want, path)
}

func check(got string, want cid.CID, path string) error {
	if want.Defined() && got != want.String() {
		return fmt.Errorf("store %s: the server has the CID %s instead of %s", path, got, want)
	}
	return nil
}

// Create is Put that fails when the path is taken.
func (c *Client) Create(ctx context.Context, path, mime string, body io.Reader, size int64) (File, error) {
	var f File
	err := c.call(ctx, request{
		method: http.MethodPost, path: api + "/files", query: at(path), body: body, length: size,
		header: map[string]string{"Content-Type": mime},
	}, &f)
	return f, err
}

// Edit replaces text in the file at a path.
func (c *Client) Edit(ctx context.Context, id string, e filestorehttp.EditBody) (filestorehttp.EditResult, error) {
	var out filestorehttp.EditResult
	err := c.patch(ctx, api+"/files/"+id+"/edit", e, &out)
	return out, err
}

func (c *Client) patch(ctx context.Context, path string, body, out any) error {
	b, err := encode(body)
	if err != nil {
		return err
	}
	return c.call(ctx, request{
		method: http.MethodPatch, path: path, body: b, length: int64(b.Len()),
		header: map[string]string{"Content-Type": "application/json"},
	}, out)
}

// Remove moves the file at a path to the trash.
func (c *Client) Remove(ctx context.Context, path string) (File, error) {
	var f File
	err := c.call(ctx, request{method: http.MethodDelete, path: api + "/content", query: at(path)}, &f)
	return f, err
}

// Move gives a file or a folder another path, and returns how many files moved.
func (c *Client) Move(ctx context.Context, from, to string, overwrite bool) (int, error) {
	var out filestorehttp.Moved
	err := c.post(ctx, api+"/move", filestorehttp.MoveBody{From: from, To: to, Overwrite: overwrite}, &out)
	return out.Count, err
}

// Copy gives the content of a file or a folder another path too, and returns how
// many files and made folders there are.
func (c *Client) Copy(ctx context.Context, from, to string, overwrite bool) (int, error) {
	var out filestorehttp.Moved
	err := c.post(ctx, api+"/copy", filestorehttp.MoveBody{From: from, To: to, Overwrite: overwrite}, &out)
	return out.Count, err
}

// MakeFolder makes a folder that stays when it is empty.
func (c *Client) MakeFolder(ctx context.Context, path string) error {
	return c.post(ctx, api+"/folders", filestorehttp.FolderBody{Path: path}, nil)
}

// RemoveFolder moves all that is in a folder to the trash, and returns how many files
// and made folders there were.
func (c *Client) RemoveFolder(ctx context.Context, path string) (int, error) {
	var out filestorehttp.Moved
	err := c.call(ctx, request{method: http.MethodDelete, path: api + "/folders", query: at(path)}, &out)
	return out.Count, err
}

// RemoveEmptyFolder forgets a folder, unless something is in it.
func (c *Client) RemoveEmptyFolder(ctx context.Context, path string) error {
	q := at(path)
	q.Set("empty", "true")
	return c.call(ctx, request{method: http.MethodDelete, path: api + "/folders", query: q}, nil)
}

// Versions lists the versions of the file at a path.
func (c *Client) Versions(ctx context.Context, path string) ([]filestorehttp.VersionEntry, error) {
	f, err := c.Stat(ctx, path)
	if err != nil {
		return nil, err
	}
	var out filestorehttp.VersionList
	err = c.call(ctx, request{method: http.MethodGet, path: api + "/files/" + f.ID + "/versions"}, &out)
	return out.Versions, err
}

// Publish makes the file at a path public and returns its address, or ends that.
func (c *Client) Publish(ctx context.Context, path string, public bool) (string, error) {
	f, err := c.Stat(ctx, path)
	if err != nil {
		return "", err
	}
	var out filestorehttp.PublicState
	err = c.call(ctx, request{
		method: http.MethodPatch, path: api + "/files/" + f.ID + "/public", query: url.Values{"public": {strconv.FormatBool(public)}},
	}, &out)
	if strings.HasPrefix(out.PublicURL, "/") { // the server does not know how it is reached; we do
		out.PublicURL = c.cfg.Server + out.PublicURL
	}
	return out.PublicURL, err
}

// Link is a share link. Key and Token travel in the fragment of its address: no
// server ever sees them.
type Link struct {
	ID    string
	Key   string
	Token string
}

// Share makes a link: a key of its own, a delegation to it that reaches one path
// for reading, and a registration so that its use is counted and can be ended.
func (c *Client) Share(ctx context.Context, path, resource string, expires time.Time, maxUses int64) (Link, error) {
	key, err := did.NewSigner()
	if err != nil {
		return Link{}, err
	}
	s := ucan.Statement{
		Audience: key.DID(), Capabilities: []ucan.Capability{ucan.NewCapability("fs/read", resource, ipld.Node{})},
		Expires: expires,
	}
	if c.cfg.Proof != nil {
		s.Proofs = []*ucan.Token{c.cfg.Proof}
	}
	t, err := ucan.Issue(c.cfg.Signer, s)
	if err != nil {
		return Link{}, fmt.Errorf("make link: %w", err)
	}
	var out filestorehttp.ShareEntry
	err = c.post(ctx, api+"/shares", filestorehttp.ShareBody{Delegation: t.Encode(), Path: path, MaxUses: maxUses}, &out)
	return Link{out.ID, key.PrivateText(), t.Encode()}, err
}

// SharePlainly makes a link whose address is all that it takes to read a path.
func (c *Client) SharePlainly(ctx context.Context, path string, expires time.Time,
	maxUses int64,
) (filestorehttp.PlainLink, error) {
	body := filestorehttp.PlainBody{Path: path, MaxUses: maxUses}
	if !expires.IsZero() {
		body.ExpiresAt = expires.UTC().Format(time.RFC3339)
	}
	return c.plainLink(ctx, "/shares/plain", body)
}

// ShareForUploads makes a link by which everybody who has it sends files to a folder.
func (c *Client) ShareForUploads(ctx context.Context, path string, expires time.Time, maxBytes,
	maxFiles int64,
) (filestorehttp.PlainLink, error) {
	body := filestorehttp.UploadLinkBody{Path: path, MaxBytes: maxBytes, MaxFiles: maxFiles}
	if !expires.IsZero() {
		body.ExpiresAt = expires.UTC().Format(time.RFC3339)
	}
	return c.plainLink(ctx, "/shares/upload", body)
}

func (c *Client) plainLink(ctx context.Context, route string, body any) (filestorehttp.PlainLink, error) {
	var out filestorehttp.PlainLink
	err := c.post(ctx, api+route, body, &out)
	if strings.HasPrefix(out.URL, "/") {
		out.URL = c.cfg.Server + out.URL
	}
	return out, err
}

// EndShare ends a link.
func (c *Client) EndShare(ctx context.Context, id string) error {
	return c.call(ctx, request{method: http.MethodDelete, path: api + "/shares/" + url.PathEscape(id)}, nil)
}

// Shares lists links.
func (c *Client) Shares(ctx context.Context) ([]filestorehttp.ShareEntry, error) {
	var out filestorehttp.ShareList
	err := c.call(ctx, request{method: http.MethodGet, path: api + "/shares", query: url.Values{"limit": {"200"}}}, &out)
	return out.Shares, err
}

// CIDs lists files by CID.
func (c *Client) CIDs(ctx context.Context) (filestorehttp.CIDList, error) {
	var all filestorehttp.CIDList
	for q := (url.Values{"limit": {"200"}}); ; {
		var page filestorehttp.CIDList
		if err := c.call(ctx, request{method: http.MethodGet, path: api + "/cids", query: q}, &page); err != nil {
			return all, err
		}
		all.CIDs, all.Total = append(all.CIDs, page.CIDs...), page.Total
		if len(page.CIDs) < 200 {
			return all, nil
		}
		q.Set("after", page.CIDs[len(page.CIDs)-1].Path)
	}
}

// Search finds text files by words.
func (c *Client) Search(ctx context.Context, words, folder string) (filestorehttp.SearchResult, error) {
	var out filestorehttp.SearchResult
	err := c.call(ctx,
		request{method: http.MethodGet, path: api + "/search", query: url.Values{"q": {words}, "path": {folder}}}, &out)
	return out, err
}

// Import sends a CAR, which becomes files below a path, or as blocks one file at it.
func (c *Client) Import(ctx context.Context, path string, archive io.Reader, size int64, asBlocks,
	overwrite bool,
) (filestorehttp.ImportResult, error) {
	var out filestorehttp.ImportResult
	q := at(path)
	if asBlocks {
		q.Set("as", "blocks")
	}
	if overwrite {
		q.Set("overwrite", "true")
	}
	err := c.call(ctx, request{
		method: http.MethodPost, path: api + "/import", query: q, body: archive, length: size,
		header: map[string]string{"Content-Type": "application/vnd.ipld.car"},
	}, &out)
	return out, err
}

// Export writes a file or a folder as a CAR to w.
func (c *Client) Export(ctx context.Context, path string, w io.Writer) error {
	res, err := c.do(ctx, request{method: http.MethodGet, path: api + "/export", query: at(path)})
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	_, err = io.Copy(w, res.Body)
	return err
}
