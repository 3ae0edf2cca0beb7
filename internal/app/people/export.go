package people

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/identity/operators"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/contenthttp"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/plugin"
)

const (
	// exportHeld is how much of an export is made before its status is sent.
	exportHeld = 1 << 20
	exportPage = 200
)

// ExportName is how the archive of somebody is called.
func ExportName(did string) string { return "castalia-" + did[max(0, len(did)-confirmed):] + ".tar.gz" }

func (d Deps) exportRoute(tags []string, did []httpserver.Param) httpserver.Route {
	return httpserver.Route{
		Method: http.MethodPost, Pattern: "/operator/people/{did}/export", Auth: httpserver.Operator, Tags: tags, Params: did, Stream: true,
		Summary: "Export somebody",
		Doc:     "What is kept of them as a tar archive, packed with gzip: conversations, what plugins remember, app keys and webhooks without their secrets, collections, and files with their list. An archive that ends early is one that failed.",
		Replies: []httpserver.Reply{
			{Status: http.StatusOK, Media: "application/gzip", Doc: "The archive."},
			{Status: http.StatusForbidden, Doc: "They have a role, and you are no owner."},
			{Status: http.StatusConflict, Doc: "This node has not all services."},
		}, Handler: d.export,
	}
}

func (d Deps) export(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	did, err := d.named(r)
	if err != nil {
		return err
	}
	own, err := d.Book.QuotaOf(ctx, did) // which checks the DID
	if err != nil {
		return err
	}
	role, err := d.RoleOf(ctx, did)
	if err != nil {
		return err
	}
	if role != operators.None && httpserver.OperatorOf(ctx).Role < httpserver.Owner {
		return fault.Newf(fault.Forbidden, "They are %s here: an owner may export them", role).WithCode("has_role")
	}
	if err := d.allHere(ctx); err != nil {
		return err
	}
	p, err := d.person(ctx, did)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/gzip")
	w.Header().Set("Content-Disposition", `attachment; filename="`+ExportName(did)+`"`)
	answer := &contenthttp.Late{ResponseWriter: w, Room: exportHeld}
	packed := gzip.NewWriter(answer)
	a := &Archive{tar: tar.NewWriter(packed), at: time.Now()}
	err = a.json("person.json", map[string]any{"person": p, "quota": own})
	if err == nil {
		err = d.Export(ctx, did, a)
	}
	if err == nil { // the end is written when all is there, so that less is seen to be less
		err = errors.Join(a.tar.Close(), packed.Close())
	}
	return answer.Finish(err)
}

// Archive is what an export is written to.
type Archive struct {
	tar *tar.Writer
	at  time.Time
}

func (a *Archive) json(name string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	if err := a.begin(name, int64(len(text)), a.at); err != nil {
		return err
	}
	_, err = a.tar.Write(text)
	return err
}

func (a *Archive) begin(name string, size int64, at time.Time) error {
	return a.tar.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o600, ModTime: at, Format: tar.FormatPAX})
}

// Export writes what the services keep of somebody. It holds one conversation, or one page
// of a list, at a time.
func (s Services) Export(ctx context.Context, did string, a *Archive) error {
	steps := []func(context.Context, string, *Archive) error{s.exportKeys, s.exportWebhooks}
	if s.Chats != nil {
		steps = append(steps, s.exportConversations, s.exportPlugins)
	}
	if s.Files != nil {
		steps = append(steps, s.exportCollections, s.exportFiles)
	}
	for _, step := range steps {
		if err := step(ctx, did, a); err != nil {
			return err
		}
	}
	return nil
}

func (s Services) exportKeys(ctx context.Context, did string, a *Archive) error {
	keys, err := s.Keys.List(ctx, did)
	if err != nil {
		return err
	}
	for i := range keys {
		keys[i].Delegation = "" // which is a secret
	}
	return a.json("app-keys.json", keys)
}

func (s Services) exportWebhooks(ctx context.Context, did string, a *Archive) error {
	list, err := s.Webhooks.Endpoints(ctx, did)
	if err != nil {
		return err
	}
	return a.json("webhooks.json", list)
}

func (s Services) exportConversations(ctx context.Context, did string, a *Archive) error {
	for offset := 0; ; offset += exportPage {
		some, _, err := s.Chats.Sessions(ctx, did, exportPage, offset)
		if err != nil {
			return err
		}
		for _, session := range some {
			messages, err := s.Chats.Messages(ctx, did, session.ID)
			if errors.Is(err, oracle.ErrSessionNotFound) {
				continue // deleted meanwhile
			}
			if err != nil {
				return err
			}
			if err := a.json("conversations/"+session.ID+".json", map[string]any{"session": session, "messages": messages}); err != nil {
				return err
			}
		}
		if len(some) < exportPage {
			return nil
		}
	}
}

func (s Services) exportPlugins(ctx context.Context, did string, a *Archive) error {
	for _, l := range s.Plugins.Loaded() {
		p, ok := l.Plugin.(plugin.Exporter)
		if !ok {
			continue
		}
		kept, err := p.ExportUser(ctx, did)
		if err != nil {
			return err
		}
		if err := a.json("plugins/"+l.Plugin.Describe().Name+".json", kept); err != nil {
			return err
		}
	}
	return nil
}

func (s Services) exportCollections(ctx context.Context, did string, a *Archive) error {
	list, _, err := s.Know.Store.CollectionsOf(ctx, reachOf(did))
	if err != nil {
		return err
	}
	type collection struct {
		ID, Name, Folder string
		Readers          any
	}
	out := make([]collection, len(list))
	for i, c := range list {
		out[i] = collection{c.ID, c.Name, c.Folder, c.Readers}
	}
	return a.json("collections.json", out)
}

// exportFiles writes each page of the list and then what is in it. The trash is listed alone.
func (s Services) exportFiles(ctx context.Context, did string, a *Archive) error {
	owner := ownerOf(did)
	for page, after := 1, ""; ; page++ {
		files, err := s.Files.ListAfter(ctx, owner, after, exportPage)
		if err != nil {
			return err
		}
		if err := a.list(fmt.Sprintf("files-%04d.json", page), files); err != nil {
			return err
		}
		for _, f := range files {
			after = f.Path
			if err := s.exportFile(ctx, owner, f, a); err != nil {
				return err
			}
		}
		if len(files) < exportPage {
			break
		}
	}
	for page, offset := 1, 0; ; page, offset = page+1, offset+exportPage {
		files, err := s.Files.Trashed(ctx, owner, filestore.Page{Limit: exportPage, Offset: offset})
		if err != nil || len(files) == 0 {
			return err
		}
		if err := a.list(fmt.Sprintf("trash-%04d.json", page), files); err != nil {
			return err
		}
	}
}

func (a *Archive) list(name string, files []filestore.File) error {
	type file struct {
		Path             string
		CID              string
		Size             int64
		Type             string
		Version          int64
		Created, Updated time.Time
	}
	out := make([]file, len(files))
	for i, f := range files {
		out[i] = file{f.Path, f.CID, f.Size, f.MimeType, f.Version, f.Created, f.Updated}
	}
	return a.json(name, out)
}

func (s Services) exportFile(ctx context.Context, owner filestore.Access, f filestore.File, a *Archive) error {
	now, content, err := s.Files.OpenID(ctx, owner, f.ID)
	if fault.Is(err, fault.NotFound) {
		return nil // deleted meanwhile
	}
	if err != nil {
		return err
	}
	body, err := content.Range(0, content.Size())
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	if err := a.begin("files/"+strings.TrimPrefix(now.Path, "/"), content.Size(), now.Updated); err != nil {
		return err
	}
	if _, err := io.Copy(a.tar, body); err != nil {
		return fmt.Errorf("export a file: %w", err)
	}
	return nil
}
