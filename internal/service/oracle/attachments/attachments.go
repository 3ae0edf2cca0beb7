// Package attachments reads the files that came with a message, from the user's
// Matrix homeserver or from the user's own file store.
//
// It promises that the user's Matrix token goes to the user's own homeserver
// and nowhere else, over https and without following redirects to other hosts;
// that encrypted files are checked against their hash before a byte of them is
// used; that sizes, times and texts are bounded; and that documents are read apart
// from the program, so that none can harm it. It never fails a turn: a file that
// could not be read carries a note that says why.
//
// Decision: ADR 0044.
package attachments

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"maunium.net/go/mautrix"
	"maunium.net/go/mautrix/crypto/attachment"
	"maunium.net/go/mautrix/event"
	"maunium.net/go/mautrix/id"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/agent"
	"github.com/castalia-org/castalia/internal/service/oracle/outbound"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
	"github.com/castalia-org/castalia/plugin"
)

// Config tunes a Fetcher. The zero value is what production uses.
type Config struct {
	// HomeServer is used when the user names none; it is trusted with tokens
	// of users of any server.
	HomeServer string
	// Token is the operator's at HomeServer, for files of messages that brought none; empty reads none of those.
	Token string
	// AllowPrivate lets homeservers have private addresses and plain http, for tests.
	AllowPrivate bool
	MaxFile      int64         // 25 MB
	MaxTotal     int64         // 50 MB per message
	MaxText      int           // 50,000 bytes of text per file
	Timeout      time.Duration // 60s per file
	// Store reads a file of the user's own file store; nil has none.
	Store Store
	// Documents reads what is not text itself; nil reads none.
	Documents Documents
	Log       *slog.Logger
}

// Store reads at most limit bytes of a file by its CID, with what the user
// delegated and nothing else. It fails with plugin.ErrNoDelegation when the
// user granted nothing, and with a *plugin.Error when the store refused.
type Store func(ctx context.Context, userDID string, b identity.Brought, cid string, limit int64) ([]byte, error)

// Documents reads the text of a document apart from the program: more than limit
// bytes of it when there are more, so that whoever cuts it can say so. What is wrong
// with the document is a fault of kind Invalid, whose text the user may read. Owner is
// the user: one with many documents does not keep others waiting.
type Documents func(ctx context.Context, owner string, data []byte, limit int) (string, error)

// Fetcher reads attachments.
type Fetcher struct {
	cfg    Config
	client *http.Client
	// files are of each owner: one is held whole from its first byte until it was read.
	files *ratelimit.Slots
}

// filesEach is how many files of one owner are read at a time; more wait, unloaded.
const filesEach = 2

var _ turn.Attachments = (*Fetcher)(nil)

// New makes a Fetcher.
func New(cfg Config) *Fetcher {
	cfg.MaxFile = cmp.Or(cfg.MaxFile, 25_000_000)
	cfg.MaxTotal = cmp.Or(cfg.MaxTotal, 50_000_000)
	cfg.MaxText = cmp.Or(cfg.MaxText, 50_000)
	cfg.Timeout = cmp.Or(cfg.Timeout, time.Minute)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Fetcher{
		cfg: cfg, files: ratelimit.NewSlots(filesEach),
		client: outbound.Client(outbound.Config{AllowPrivate: cfg.AllowPrivate, MaxRedirects: 5, Timeout: cfg.Timeout}),
	}
}

// maxAnswer bounds what a homeserver says besides the files themselves.
const maxAnswer = 1 << 20

// problem is a failure that the user may read.
type problem string

// Error is the text.
func (p problem) Error() string { return string(p) }

// Fetch reads the files: see turn.Attachments.
func (f *Fetcher) Fetch(ctx context.Context, q turn.AttachmentQuery) ([]oracle.Attachment, []plugin.Image) {
	out := slices.Clone(q.Attachments)
	var images []plugin.Image
	left := f.cfg.MaxTotal
	var (
		matrix    *mautrix.Client
		matrixErr error
	)
	if slices.ContainsFunc(out, func(a oracle.Attachment) bool { return a.CID == "" }) {
		matrix, matrixErr = f.login(ctx, q)
	}
	for i := range out {
		a := &out[i]
		a.Text, a.Note = "", ""
		image, err := f.one(ctx, q, a, &left, func(limit int64) ([]byte, error) {
			return f.read(ctx, matrix, matrixErr, q, a, limit)
		})
		if err != nil {
			a.Note = f.note(err)
		}
		if image != nil {
			images = append(images, *image)
		}
	}
	return out, images
}

// one reads a file when it is its turn, and makes text or a picture of it. Left is what
// all files of the message may still have.
func (f *Fetcher) one(ctx context.Context, q turn.AttachmentQuery, a *oracle.Attachment, left *int64,
	elsewhere func(limit int64) ([]byte, error),
) (*plugin.Image, error) {
	leave, err := f.files.Take(ctx, q.Owner)
	if err != nil {
		return nil, err
	}
	defer leave()
	var data []byte
	if limit := min(f.cfg.MaxFile, *left); a.CID != "" {
		data, err = f.stored(ctx, q, a, limit)
	} else {
		data, err = elsewhere(limit)
	}
	if err != nil {
		return nil, err
	}
	*left -= int64(len(data))
	a.Size = int64(len(data))
	return f.digest(ctx, q.Owner, a, data)
}

// stored reads a file of the user's own store.
func (f *Fetcher) stored(ctx context.Context, q turn.AttachmentQuery, a *oracle.Attachment,
	limit int64,
) ([]byte, error) {
	if f.cfg.Store == nil {
		return nil, problem("this server has no file store")
	}
	if limit <= 0 || a.Size > limit {
		return nil, problem("it is too large")
	}
	ctx, cancel := context.WithTimeout(ctx, f.cfg.Timeout)
	defer cancel()
	data, err := f.cfg.Store(ctx, q.Owner, q.Brought, a.CID, limit+1)
	if errors.Is(err, plugin.ErrNoDelegation) {
		return nil, problem("you have not let the oracle read your files")
	}
	if refused, ok := errors.AsType[*plugin.Error](err); ok && refused.Status < http.StatusInternalServerError {
		return nil, problem("the file store does not show it to the oracle")
	}
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, problem("it is too large")
	}
	return data, nil
}

// note says why a file could not be read.
func (f *Fetcher) note(err error) string {
	if p, ok := errors.AsType[problem](err); ok {
		return "[could not be read: " + string(p) + "]"
	}
	if e := fault.From(err); e.Kind == fault.Invalid {
		return "[could not be read: " + e.Message + "]"
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // without the address, which may have a key in it
	}
	f.cfg.Log.Info("an attachment could not be read", slog.String("event", "attachment.unreadable"), slog.Any("error", err))
	return "[could not be read]"
}

// login checks that the homeserver is the user's own before it may see more of
// the token's use.
func (f *Fetcher) login(ctx context.Context, q turn.AttachmentQuery) (*mautrix.Client, error) {
	server, token := cmp.Or(q.HomeServer, f.cfg.HomeServer), q.MatrixToken
	if token == "" { // the operator's goes to no server that a message names (ADR 0302)
		server, token = f.cfg.HomeServer, f.cfg.Token
	}
	if server == "" || token == "" {
		return nil, problem("the request named no Matrix homeserver or carried no Matrix token")
	}
	base, err := f.base(server)
	if err != nil {
		return nil, err
	}
	client, err := mautrix.NewClient(base.String(), "", token)
	if err != nil {
		return nil, fmt.Errorf("make matrix client: %w", err)
	}
	client.Client = f.client
	client.DefaultHTTPRetries = 0
	client.IgnoreRateLimit = true
	client.ResponseSizeLimit = maxAnswer
	client.SpecVersions = &mautrix.RespVersions{Versions: []mautrix.SpecVersion{mautrix.SpecV111}} // authenticated media
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	who, err := client.Whoami(ctx)
	if err != nil {
		if h, ok := errors.AsType[mautrix.HTTPError](err); ok && h.Response != nil &&
			h.Response.StatusCode == http.StatusUnauthorized {
			return nil, problem("the homeserver did not accept the Matrix token")
		}
		return nil, fmt.Errorf("ask homeserver who the user is: %w", err)
	}
	if !f.owns(base, who.UserID.Homeserver()) {
		return nil, problem("the homeserver is not the user's own")
	}
	client.UserID = who.UserID
	return client, nil
}

// base reads a homeserver's address: https, or a bare name.
func (f *Fetcher) base(server string) (*url.URL, error) {
	if !strings.Contains(server, "://") {
		server = "https://" + server
	}
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, problem("the homeserver's address is not an address")
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !f.cfg.AllowPrivate) {
		return nil, problem("the homeserver must be reached by https")
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, nil
}

// owns reports whether a homeserver serves the server name of a user: the same
// host, a host below it, or the one that the operator configured.
func (f *Fetcher) owns(base *url.URL, name string) bool {
	host, name := strings.ToLower(base.Host), strings.ToLower(name)
	if configured, err := f.base(f.cfg.HomeServer); f.cfg.HomeServer != "" && err == nil &&
		strings.EqualFold(configured.Host, host) {
		return true
	}
	return host == name || base.Hostname() == name || strings.HasSuffix(base.Hostname(), "."+name)
}

// read fetches one file and decrypts it if need be.
func (f *Fetcher) read(ctx context.Context, m *mautrix.Client, matrixErr error, q turn.AttachmentQuery,
	a *oracle.Attachment, limit int64,
) ([]byte, error) {
	if limit <= 0 || a.Size > limit {
		return nil, problem("it is too large")
	}
	ctx, cancel := context.WithTimeout(ctx, f.cfg.Timeout)
	defer cancel()
	uri, file := a.MxcURI, a.File
	if uri == "" {
		if matrixErr != nil {
			return nil, matrixErr
		}
		if q.MatrixToken == "" { // the operator may see rooms that the user may not
			return nil, problem("an event is read only with the user's own Matrix token")
		}
		var err error
		if uri, file, err = f.resolve(ctx, m, q.RoomID, a.EventID); err != nil {
			return nil, err
		}
	}
	var (
		resp *http.Response
		err  error
	)
	if strings.HasPrefix(uri, "mxc://") {
		if matrixErr != nil {
			return nil, matrixErr
		}
		parsed, perr := id.ParseContentURI(uri)
		if perr != nil {
			return nil, problem("its mxc address is not valid")
		}
		resp, err = m.Download(ctx, parsed)
	} else {
		resp, err = f.get(ctx, uri)
	}
	if err != nil {
		return nil, f.explain(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.ContentLength > limit {
		return nil, problem("it is too large")
	}
	var body bytes.Buffer
	body.Grow(int(max(resp.ContentLength, 0)) + bytes.MinRead)
	if _, err := body.ReadFrom(io.LimitReader(resp.Body, limit+1)); err != nil {
		return nil, fmt.Errorf("download: %w", err)
	}
	data := body.Bytes()
	if int64(len(data)) > limit {
		return nil, problem("it is too large")
	}
	if file != nil {
		return decrypt(file, data)
	}
	return data, nil
}

// get fetches a plain web address, without any token.
func (f *Fetcher) get(ctx context.Context, uri string) (*http.Response, error) {
	if strings.HasPrefix(uri, "http://") && !f.cfg.AllowPrivate {
		return nil, problem("it must be reached by https")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, uri, http.NoBody)
	if err != nil {
		return nil, problem("its address is not valid")
	}
	resp, err := f.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, problem(fmt.Sprintf("its server answered %d", resp.StatusCode))
	}
	return resp, nil
}

// explain turns failures that the user can do something about into texts. That an
// address is private is none: it would tell which names mean something in our network.
func (f *Fetcher) explain(err error) error {
	if h, ok := errors.AsType[mautrix.HTTPError](err); ok && h.Response != nil {
		switch h.Response.StatusCode {
		case http.StatusNotFound:
			return problem("the homeserver does not have it")
		case http.StatusUnauthorized, http.StatusForbidden:
			return problem("the homeserver did not allow it")
		}
	}
	return err
}

// resolve finds the file of an event.
func (f *Fetcher) resolve(ctx context.Context, m *mautrix.Client, room,
	eventID string,
) (string, *oracle.EncryptedFile, error) {
	if room == "" {
		return "", nil, problem("an eventId needs the room's id (metadata.editorRoomId)")
	}
	ev, err := m.GetEvent(ctx, id.RoomID(room), id.EventID(eventID))
	if err != nil {
		return "", nil, f.explain(err)
	}
	if ev.Type.Type == event.EventEncrypted.Type {
		return "", nil, problem("the message is encrypted; send the decrypted file object along")
	}
	if err := ev.Content.ParseRaw(event.EventMessage); err != nil && !errors.Is(err, event.ErrContentAlreadyParsed) {
		return "", nil, problem("the event holds no file")
	}
	content := ev.Content.AsMessage()
	if content.File != nil {
		return string(content.File.URL), &oracle.EncryptedFile{
			Version: content.File.Version, URL: string(content.File.URL), IV: content.File.InitVector,
			Key: oracle.EncryptedFileKey{
				KeyType: content.File.Key.KeyType, Algorithm: content.File.Key.Algorithm,
				Ext: content.File.Key.Extractable, Key: content.File.Key.Key, KeyOps: content.File.Key.KeyOps,
			},
			Hashes: map[string]string{"sha256": content.File.Hashes.SHA256},
		}, nil
	}
	if content.URL == "" {
		return "", nil, problem("the event holds no file")
	}
	return string(content.URL), nil, nil
}

// decrypt checks the hash of the ciphertext, then decrypts it where it is.
func decrypt(file *oracle.EncryptedFile, data []byte) ([]byte, error) {
	e := attachment.EncryptedFile{
		Version: file.Version, InitVector: file.IV, Hashes: attachment.EncryptedFileHashes{SHA256: file.Hashes["sha256"]},
		Key: attachment.JSONWebKey{
			Key: file.Key.Key, Algorithm: file.Key.Algorithm, Extractable: file.Key.Ext,
			KeyType: file.Key.KeyType, KeyOps: file.Key.KeyOps,
		},
	}
	if err := e.PrepareForDecryption(); err != nil {
		return nil, problem("its encryption is not understood")
	}
	if err := e.DecryptInPlace(data); err != nil {
		return nil, problem("it was changed on its way: the hash does not match")
	}
	return data, nil
}

// digest makes text or a picture of a file.
func (f *Fetcher) digest(ctx context.Context, owner string, a *oracle.Attachment, data []byte) (*plugin.Image, error) {
	sniffed := http.DetectContentType(data)
	switch {
	case strings.HasPrefix(sniffed, "image/"):
		a.Category = "image"
		if !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, sniffed) {
			return nil, problem("pictures of this kind are not supported")
		}
		a.Note = "[picture]"
		return &plugin.Image{MediaType: sniffed, Data: data}, nil
	case sniffed == "application/pdf", sniffed == "application/zip": // offices pack what they write
		a.Category = "document"
		if f.cfg.Documents == nil {
			return nil, problem("this server reads no documents")
		}
		ctx, cancel := context.WithTimeout(ctx, f.cfg.Timeout)
		defer cancel()
		text, err := f.cfg.Documents(ctx, owner, data, f.cfg.MaxText)
		if err != nil {
			return nil, err
		}
		a.Text = agent.Cap(text, f.cfg.MaxText)
		return nil, nil //nolint:nilnil // a document has no picture
	case strings.HasPrefix(sniffed, "text/"), sniffed == "application/json":
		a.Category = "text"
		a.Text = agent.Cap(string(data), f.cfg.MaxText)
		return nil, nil //nolint:nilnil // a text has no picture
	}
	a.Category = "file"
	return nil, problem("files of this kind cannot be read as text")
}
