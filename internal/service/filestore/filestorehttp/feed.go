package filestorehttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/protocol/sse"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/contenthttp"
)

// Change is an entry of the change feed.
type Change struct {
	Seq      int64  `json:"seq"`
	At       string `json:"at"`
	Op       string `json:"op"`
	ID       string `json:"id,omitempty"`
	Path     string `json:"path,omitempty"`
	From     string `json:"from,omitempty"`
	Version  int64  `json:"version,omitempty"`
	CID      string `json:"cid,omitempty"`
	Size     int64  `json:"size"`
	MimeType string `json:"mimeType,omitempty"`
}

// ChangeList is a page of the feed. Ask again with Next.
type ChangeList struct {
	Changes []Change `json:"changes"`
	Next    int64    `json:"next"`
}

// AuditEntry is a change with who made it, for whom, and under which proof.
type AuditEntry struct {
	Change
	Before  string `json:"cidBefore,omitempty"`
	Invoker string `json:"invoker"`
	Actor   string `json:"actor"`
	Proof   string `json:"proof,omitempty"`
}

// AuditList is a page of the audit.
type AuditList struct {
	Entries []AuditEntry `json:"entries"`
	Next    int64        `json:"next"`
}

// UsageBody is what a namespace holds.
type UsageBody struct {
	Namespace      string `json:"namespace"`
	Files          int64  `json:"files"`
	Bytes          int64  `json:"bytes"`
	TrashFiles     int64  `json:"trashFiles"`
	TrashBytes     int64  `json:"trashBytes"`
	Versions       int64  `json:"versions"`
	VersionBytes   int64  `json:"versionBytes"`
	MaxUpload      int64  `json:"maxUpload"`
	Quota          int64  `json:"quota,omitempty"`
	LastChange     int64  `json:"lastChange"`
	IndexedThrough int64  `json:"indexedThrough"`
}

// heartbeat keeps proxies from closing a quiet stream.
const heartbeat = 15 * time.Second

// feedPage is the largest page of changes, streamPage one of a stream; of those that are
// sent at once so many bytes are encoded at a time.
const (
	feedPage    = 1000
	streamPage  = 200
	streamBatch = 64 << 10
)

func (a *api) feedRoutes() []httpserver.Route {
	since := httpserver.Param{Name: "since", In: "query", Schema: 0, Doc: "Number after which to begin; 0 is the beginning."}
	get := func(pattern, summary string, body any, h handler, params ...httpserver.Param) httpserver.Route {
		return httpserver.Route{
			Method: http.MethodGet, Pattern: prefix + pattern, Summary: summary, Tags: []string{"Files"},
			Auth:   httpserver.Principal,
			Params: params, Replies: []httpserver.Reply{{Status: 200, Body: body}}, Handler: a.with(h),
		}
	}
	changes := get("/changes", "What changed, oldest first; with Accept: text/event-stream, as it happens", ChangeList{}, a.changes, since, limitParam)
	changes.Stream = true
	export := httpserver.Route{
		Method: http.MethodGet, Pattern: prefix + "/export", Summary: "The files below a folder as one CAR", Tags: []string{"Files"}, Auth: httpserver.Principal,
		Params: []httpserver.Param{{Name: "path", In: "query", Doc: "Folder or file; / when absent."}}, Stream: true,
		Replies: []httpserver.Reply{{Status: 200, Media: "application/vnd.ipld.car; version=1", Doc: "A UnixFS DAG; the root is in the header and in x-vfs-root-cid."}}, Handler: a.with(a.export),
	}
	return []httpserver.Route{
		changes,
		get("/audit", "Who did what for whom under which proof", AuditList{}, a.audit, since, limitParam),
		get("/usage", "What the namespace holds", UsageBody{}, a.usage),
		export,
	}
}

func changeOf(e filestore.Event) Change {
	return Change{e.Seq, stamp(e.At), string(e.Op), e.FileID, e.Path, e.From, e.Version, e.CID, e.Size, e.MimeType}
}

func (a *api) since(r *http.Request) (after int64, limit int, err error) {
	n, err := number(r, "since", 0, 0, 1<<62)
	if err != nil {
		return 0, 0, err
	}
	limit, err = number(r, "limit", 1, filestore.MaxPage, feedPage)
	return int64(n), limit, err
}

func (a *api) changes(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	after, limit, err := a.since(r)
	if err != nil {
		return err
	}
	if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		return a.streamChanges(w, r, access, after)
	}
	events, next, err := a.svc.Changes(r.Context(), access, after, limit)
	if err != nil {
		return err
	}
	out := ChangeList{Changes: make([]Change, 0, len(events)), Next: next}
	for _, e := range events {
		out.Changes = append(out.Changes, changeOf(e))
	}
	return httpserver.WriteJSON(w, http.StatusOK, out)
}

// streamChanges sends changes as they happen. Last-Event-ID continues a stream
// that was cut, on any node.
func (a *api) streamChanges(w http.ResponseWriter, r *http.Request, access filestore.Access, after int64) error {
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil || n < 0 {
			return fault.New(fault.Invalid, "Last-Event-ID must be a number")
		}
		after = n
	}
	if _, _, err := a.svc.Changes(r.Context(), access, after, 1); err != nil {
		return err // before the stream has begun
	}
	w.Header().Set("Content-Type", "text/event-stream")
	s := httpserver.Stream(w, r)
	if err := s.Start(http.StatusOK); err != nil {
		return nil
	}
	ctx, end := identity.UntilEnded(r.Context(), r.Context())
	defer end()
	for {
		events, next, err := a.waitChanges(ctx, s, access, after)
		if err != nil || a.svc.Admit(ctx, access) != nil {
			return nil // the client, its token or its link has ended
		}
		var out []byte
		for _, e := range events {
			data, err := json.Marshal(changeOf(e))
			if err != nil {
				return fmt.Errorf("encode change: %w", err)
			}
			if out, err = sse.Append(out, sse.Event{Name: "change", ID: strconv.FormatInt(e.Seq, 10), Data: data}); err != nil {
				return err
			}
			if len(out) >= streamBatch {
				if s.Send(out) != nil {
					return nil
				}
				out = out[:0]
			}
		}
		if len(events) == 0 {
			out = sse.AppendComment(out, "alive")
		}
		if len(out) > 0 && s.Send(out) != nil {
			return nil
		}
		after = next
	}
}

// waitChanges waits for changes, or for the time of the next heartbeat.
func (a *api) waitChanges(ctx context.Context, s *httpserver.StreamWriter, access filestore.Access,
	after int64,
) ([]filestore.Event, int64, error) {
	ctx, cancel := context.WithTimeout(ctx, heartbeat)
	defer cancel()
	over := make(chan struct{})
	defer close(over)
	draining := s.Draining() //nolint:contextcheck // the stream has the request's own
	go func() {
		select {
		case <-draining:
			cancel() // Canceled, unlike the heartbeat's DeadlineExceeded, ends the stream
		case <-over:
		}
	}()
	events, next, err := a.svc.WaitChanges(ctx, access, after, streamPage)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, next, nil
	}
	return events, next, err
}

func (a *api) audit(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	after, limit, err := a.since(r)
	if err != nil {
		return err
	}
	events, next, err := a.svc.Audit(r.Context(), access, after, limit)
	if err != nil {
		return err
	}
	out := AuditList{Entries: make([]AuditEntry, 0, len(events)), Next: next}
	for _, e := range events {
		out.Entries = append(out.Entries, AuditEntry{changeOf(e), e.Before, e.By.Invoker, e.By.Actor, e.By.Proof})
	}
	return httpserver.WriteJSON(w, http.StatusOK, out)
}

func (a *api) usage(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	u, err := a.svc.Usage(r.Context(), access)
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, UsageBody{
		access.Namespace, u.Files, u.Bytes, u.TrashFiles, u.TrashBytes, u.Versions, u.VersionBytes, a.svc.MaxUpload(),
		a.svc.Quota(access.Namespace), u.Last, u.IndexedThrough,
	})
}

// exportHeld is how much of an export is made before its status is sent: most
// exports that fail say so.
const exportHeld = 4 << 20

func (a *api) export(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	e, err := a.dag.Export(r.Context(), access, r.URL.Query().Get("path"))
	if err != nil {
		return err
	}
	defer e.Close()
	if r.Method != http.MethodHead {
		if err := e.Use(); err != nil {
			return err
		}
	}
	h := w.Header()
	h.Set("Content-Type", "application/vnd.ipld.car; version=1")
	h.Set("Content-Disposition", `attachment; filename="export.car"`)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Vfs-Root-Cid", e.Root().String())
	h.Set("Content-Length", strconv.FormatInt(e.Size(), 10))
	if r.Method == http.MethodHead {
		return nil
	}
	answer := &contenthttp.Late{ResponseWriter: w, Room: exportHeld}
	return answer.Finish(e.Write(answer))
}
