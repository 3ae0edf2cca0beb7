package people

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/identity/operators"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/contenthttp"
	"github.com/castalia-org/castalia/internal/service/filestore/plainlink"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
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
		InnerRole: httpserver.Owner, Summary: "Export somebody",
		Doc: "What is kept of them as a tar archive, packed with gzip: conversations with the versions that are not shown and what they thought of answers, calls and where their recordings lie, what plugins remember, app keys, webhooks and links to files without their secrets, collections, and files with their list. Archived conversations are read and stay archived; `lost.json`, the last file, names those that the archive has lost, and files whose stored content is damaged: of these the export has what comes before the damage, and then zeros. An archive that ends early is one that failed.",
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
	// lost is what it lacks.
	lost Lost
}

// LostName is the last file of an export: what it could not have.
const LostName = "lost.json"

// Lost is what that file says. Of the conversations it names there is all but the messages.
type Lost struct {
	Conversations []string `json:"conversations"`
	// Files are those whose stored content is damaged.
	Files []DamagedFile `json:"files"`
}

// DamagedFile is a file of which an export has the beginning alone.
type DamagedFile struct {
	ID   string `json:"id"`
	Path string `json:"path"`
	Size int64  `json:"size"`
	// Good is how many bytes are as they were. The rest is zeros in the archive; without any
	// the file is not there.
	Good int64 `json:"good"`
}

// mostNamed bounds how many of them an event names.
const mostNamed = 20

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

// Export writes what the services keep of somebody. It holds one page of a list, one of a
// conversation, or one archived conversation at a time.
func (s Services) Export(ctx context.Context, did string, a *Archive) error {
	steps := []func(context.Context, string, *Archive) error{s.exportKeys, s.exportWebhooks}
	if s.Chats != nil {
		steps = append(steps, s.exportConversations, s.exportCalls, s.exportPlugins)
	}
	if s.Files != nil {
		steps = append(steps, s.exportCollections, s.exportLinks, s.exportFiles)
	}
	for _, step := range steps {
		if err := step(ctx, did, a); err != nil {
			return err
		}
	}
	if lost := a.lost.Conversations; len(lost) > 0 {
		s.Log.WarnContext(ctx, "an export lacks archived conversations whose objects are lost", slog.String("event", "people.export_lost"),
			slog.Int("conversations", len(lost)), slog.Any("sessions", lost[:min(len(lost), mostNamed)]))
	}
	if files := a.lost.Files; len(files) > 0 {
		ids := make([]string, 0, mostNamed) // paths say more than operators need
		for _, f := range files[:min(len(files), mostNamed)] {
			ids = append(ids, f.ID)
		}
		s.Log.WarnContext(ctx, "an export lacks files whose stored content is damaged", slog.String("event", "people.export_damaged"),
			slog.Int("files", len(files)), slog.Any("ids", ids))
	}
	return a.json(LostName, Lost{
		Conversations: append([]string{}, a.lost.Conversations...), Files: append([]DamagedFile{}, a.lost.Files...),
	})
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

// exportConversations writes each conversation with the branches that are not shown, some
// messages a file. What is archived is read there, and what the archive has lost is named.
func (s Services) exportConversations(ctx context.Context, did string, a *Archive) error {
	for after := ""; ; {
		some, err := s.Chats.SessionsAfter(ctx, did, after, exportPage)
		if err != nil {
			return err
		}
		for _, session := range some {
			after = session.ID
			if err := s.exportConversation(ctx, did, session, a); err != nil && !errors.Is(err, oracle.ErrSessionNotFound) {
				return err // otherwise it was deleted meanwhile
			}
		}
		if len(some) < exportPage {
			return nil
		}
	}
}

// conversation is what a file has of one: the first all that is not a message, too.
type conversation struct {
	Session  *oracle.Session  `json:"session,omitempty"`
	Branches oracle.Branches  `json:"branches,omitempty"`
	Messages []oracle.Message `json:"messages"`
	// Lost says that the messages are gone.
	Lost string `json:"lost,omitempty"`
}

func (s Services) exportConversation(ctx context.Context, did string, session oracle.Session, a *Archive) error {
	branches, err := s.Chats.Branches(ctx, did, session.ID)
	if err != nil {
		return err
	}
	name, file := "conversations/"+session.ID, conversation{Session: &session, Branches: branches}
	page := 0
	err = s.Chats.Whole(ctx, did, session.ID, func(some []oracle.Message) error {
		at := name + ".json"
		if page++; page > 1 {
			at, file = fmt.Sprintf("%s-%04d.json", name, page), conversation{}
		}
		file.Messages = append([]oracle.Message{}, some...)
		return a.json(at, file)
	})
	if !errors.Is(err, oracle.ErrLost) {
		return err
	}
	if a.lost.Conversations = append(a.lost.Conversations, session.ID); page > 0 { // it was archived in the middle
		return nil
	}
	file.Messages, file.Lost = []oracle.Message{}, oracle.ErrLost.Error()
	return a.json(name+".json", file)
}

// exportCalls writes the records of calls. A recording is a file, and lies where its path says.
func (s Services) exportCalls(ctx context.Context, did string, a *Archive) error {
	for page, after := 1, ""; ; page++ {
		some, err := s.Calls(ctx, did, after, exportPage)
		if err != nil {
			return err
		}
		if err := a.json(fmt.Sprintf("calls-%04d.json", page), append([]call.Record{}, some...)); err != nil || len(some) < exportPage {
			return err
		}
		after = some[len(some)-1].ID
	}
}

// exportLinks writes which links to files there were, without what opens them.
func (s Services) exportLinks(ctx context.Context, did string, a *Archive) error {
	type link struct {
		ID, Path, By              string
		Uploads                   bool
		Created, Expires, Revoked time.Time
		MaxUses, Uses             int64
		MaxBytes, Bytes           int64
	}
	for page, offset := 1, 0; ; page, offset = page+1, offset+exportPage {
		some, err := s.Files.Shares(ctx, ownerOf(did), filestore.Page{Limit: exportPage, Offset: offset})
		if err != nil {
			return err
		}
		out := make([]link, len(some))
		for i, l := range some {
			out[i] = link{
				l.ID, l.Path, l.By.Invoker, plainlink.TakesUploads(l), l.Created, l.Expires, l.Revoked,
				l.MaxUses, l.Uses, l.MaxBytes, l.Bytes,
			}
		}
		if err := a.json(fmt.Sprintf("links-%04d.json", page), out); err != nil || len(some) < exportPage {
			return err
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
	if err := s.exportFolders(ctx, owner, a); err != nil {
		return err
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

// exportFolders writes the folders that stay when they are empty.
func (s Services) exportFolders(ctx context.Context, owner filestore.Access, a *Archive) error {
	for after := ""; ; {
		made, err := s.Folders.Made(ctx, owner, "/", after, exportPage)
		if err != nil {
			return err
		}
		for _, f := range made {
			after = f.Path
			header := tar.Header{
				Typeflag: tar.TypeDir, Name: "files" + f.Path + "/", Mode: 0o700, ModTime: f.Created, Format: tar.FormatPAX,
			}
			if err := a.tar.WriteHeader(&header); err != nil {
				return err
			}
		}
		if len(made) < exportPage {
			return nil
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

// exportFile writes a file. Where the stored content is damaged it is named, and the export
// goes on: there is nothing better to come by trying again.
func (s Services) exportFile(ctx context.Context, owner filestore.Access, f filestore.File, a *Archive) error {
	now, content, err := s.Files.OpenID(ctx, owner, f.ID)
	if fault.Is(err, fault.NotFound) {
		return nil // deleted meanwhile
	}
	if err != nil {
		return a.damaged(f, 0, err)
	}
	body, err := content.Range(0, content.Size())
	if err != nil {
		return a.damaged(now, 0, err)
	}
	defer func() { _ = body.Close() }()
	begun := bufio.NewReader(body)
	if _, err := begun.Peek(1); err != nil && !errors.Is(err, io.EOF) { // nothing of it is good
		return a.damaged(now, 0, err)
	}
	if err := a.begin("files/"+strings.TrimPrefix(now.Path, "/"), content.Size(), now.Updated); err != nil {
		return err
	}
	n, err := io.Copy(a.tar, begun)
	if err == nil {
		return nil
	}
	if err := a.damaged(now, n, err); err != nil {
		return err
	}
	// Its length was promised.
	_, err = io.CopyN(a.tar, zeros{}, content.Size()-n)
	return err
}

// damaged notes a file, or passes on what is no damage.
func (a *Archive) damaged(f filestore.File, good int64, err error) error {
	if fault.From(err).Code != fault.From(filestore.Corrupt(nil)).Code {
		return fmt.Errorf("export a file: %w", err)
	}
	a.lost.Files = append(a.lost.Files, DamagedFile{ID: f.ID, Path: f.Path, Size: f.Size, Good: good})
	return nil
}

// zeros never ends.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
