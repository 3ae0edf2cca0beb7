package filestoremcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filetext"
	"github.com/castalia-org/castalia/internal/service/filestore/folder"
)

type writeIn struct {
	Path      string `json:"path" jsonschema:"absolute path; folders are made as needed"`
	Content   string `json:"content" jsonschema:"the whole text of the file"`
	MimeType  string `json:"mimeType,omitempty" jsonschema:"media type, text/plain unless given"`
	Overwrite bool   `json:"overwrite,omitempty" jsonschema:"replace a file that exists; ask the user first"`
	condition
}

type appendIn struct {
	Path    string `json:"path" jsonschema:"absolute path; the file is made when it is absent"`
	Content string `json:"content" jsonschema:"text to add at the end"`
	condition
}

type editIn struct {
	Path       string `json:"path" jsonschema:"absolute path of the file"`
	OldString  string `json:"oldString" jsonschema:"exact text to replace; it must occur once unless replaceAll is set"`
	NewString  string `json:"newString" jsonschema:"text to put in its place"`
	ReplaceAll bool   `json:"replaceAll,omitempty"`
	DryRun     bool   `json:"dryRun,omitempty" jsonschema:"only show the diff"`
	condition
}

type moveIn struct {
	From      string `json:"from" jsonschema:"absolute path of the file or folder"`
	To        string `json:"to" jsonschema:"its new path"`
	Overwrite bool   `json:"overwrite,omitempty" jsonschema:"put what is at the new path into the trash; ask the user first"`
	condition
}

type deleteIn struct {
	Paths []string `json:"paths" jsonschema:"absolute paths of files"`
	condition
}

type restoreIn struct {
	Path    string `json:"path" jsonschema:"absolute path of the file"`
	Version int64  `json:"version,omitempty" jsonschema:"make this old version the current content; without it the file comes back from the trash"`
	condition
}

type shareIn struct {
	Path   string `json:"path" jsonschema:"absolute path of the file"`
	Public bool   `json:"public" jsonschema:"true makes the file public, false ends that"`
	condition
}

func (h *handler) addWriteTools(s *mcp.Server, shown filestore.Ability, cidsOnly bool) {
	add(s, shown, cidsOnly, tool{
		name: "vfs_write", title: "Write a file", need: filestore.Write, destructive: true, idempotent: true,
		description: "Create a text file, or with overwrite store a new version of it. Reports the new CID. Old versions stay readable.",
	}, h.write)
	add(s, shown, cidsOnly, tool{
		name: "vfs_append", title: "Append to a file", need: filestore.Write,
		description: "Add text to the end of a file without sending the rest, or create it.",
	}, h.appendText)
	add(s, shown, cidsOnly, tool{
		name: "vfs_edit", title: "Edit a file", need: filestore.Write, destructive: true,
		description: "Replace an exact text in a file. Returns a diff and the new CID. Fails when the text is absent or not unique.",
	}, h.edit)
	add(s, shown, cidsOnly, tool{
		name: "vfs_move", title: "Move or rename", need: filestore.Write,
		description: "Give a file or folder another path. Fails when something is there, unless overwrite is set.",
	}, h.move)
	add(s, shown, cidsOnly, tool{
		name: "vfs_delete", title: "Delete files", need: filestore.Delete, destructive: true, idempotent: true,
		description: "Move files to the trash, from where they can be restored for a while. Ask the user first.",
	}, h.remove)
	add(s, shown, cidsOnly, tool{
		name: "vfs_restore", title: "Restore a file", need: filestore.Write,
		description: "Bring a file back from the trash, or make an old version its current content.",
	}, h.restore)
	add(s, shown, cidsOnly, tool{
		name: "vfs_share", title: "Share a file", need: filestore.Write, idempotent: true,
		description: "Make a file readable by anyone who has its link, or end that. Ask the user first.",
	}, h.share)
}

func (h *handler) write(ctx context.Context, a filestore.Access, in writeIn) (string, FileFacts, error) {
	mode := filestore.CreateOnly
	if in.Overwrite || in.IfCID != "" || in.IfVersion != 0 {
		mode = filestore.Upsert
	}
	mime := in.MimeType
	if mime == "" && mode == filestore.CreateOnly {
		mime = "text/plain; charset=utf-8"
	}
	r, err := h.svc.Put(ctx, a, filestore.Put{
		Path: in.Path, Mode: mode, MimeType: mime, Body: strings.NewReader(in.Content), Size: int64(len(in.Content)),
		If: in.of(),
	})
	if fault.Is(err, fault.Conflict) && mode == filestore.CreateOnly {
		e := fault.From(err)
		return "", FileFacts{}, fault.Wrap(fault.Conflict, "the file already exists: set overwrite to replace it, or use vfs_edit", err).
			WithField("cid", e.Fields["cid"]).WithField("version", e.Fields["version"])
	}
	if err != nil {
		return "", FileFacts{}, err
	}
	verb := "Replaced"
	if r.Created {
		verb = "Created"
	}
	return fmt.Sprintf("%s `%s`.\ncid: %s\nversion: %d", verb, r.File.Path, r.File.CID, r.File.Version), facts(r.File), nil
}

func (h *handler) appendText(ctx context.Context, a filestore.Access, in appendIn) (string, FileFacts, error) {
	r, err := h.text.Append(ctx, a, filetext.Append{Path: in.Path, Text: in.Content, MimeType: "text/plain; charset=utf-8", If: in.of()})
	if err != nil {
		return "", FileFacts{}, err
	}
	return fmt.Sprintf("Appended %d bytes to `%s`.\ncid: %s\nversion: %d", len(in.Content), r.File.Path, r.File.CID, r.File.Version), facts(r.File), nil
}

type editOut struct {
	FileFacts
	Replacements int  `json:"replacements"`
	DryRun       bool `json:"dryRun,omitempty"`
}

func (h *handler) edit(ctx context.Context, a filestore.Access, in editIn) (string, editOut, error) {
	e, err := h.text.Edit(ctx, a, filetext.Edit{
		Path: in.Path, Old: in.OldString, New: in.NewString, All: in.ReplaceAll, DryRun: in.DryRun, If: in.of(),
	})
	if err != nil {
		return "", editOut{}, err
	}
	verb := "Edited"
	if in.DryRun {
		verb = "Would edit"
	}
	text := fmt.Sprintf("%s `%s` (%d replacements).\ncid: %s\nversion: %d\n%s", verb, e.File.Path, e.Replacements, e.File.CID, e.File.Version, e.Diff)
	return text, editOut{facts(e.File), e.Replacements, in.DryRun}, nil
}

func (h *handler) move(ctx context.Context, a filestore.Access, in moveIn) (string, countOut, error) {
	_, err := h.svc.Move(ctx, a, filestore.Target{Path: in.From, If: in.of()}, in.To, in.Overwrite)
	n := 1
	if fault.Is(err, fault.NotFound) {
		var r filestore.Receipt
		r, err = h.deps.Folders.Move(ctx, a, folder.Ends{From: in.From, To: in.To, Onto: folder.OntoFlag(in.Overwrite)})
		n = r.Count
	}
	if err != nil {
		return "", countOut{}, err
	}
	return fmt.Sprintf("Moved `%s` to `%s`.", in.From, in.To), countOut{Count: n}, nil
}

type deleteOut struct {
	Deleted int `json:"deleted"`
	Failed  int `json:"failed"`
}

func (h *handler) remove(ctx context.Context, a filestore.Access, in deleteIn) (string, deleteOut, error) {
	if len(in.Paths) == 0 || len(in.Paths) > filestore.MaxBatch {
		return "", deleteOut{}, fault.Newf(fault.Invalid, "paths must have 1 to %d entries", filestore.MaxBatch)
	}
	var out deleteOut
	var failed strings.Builder
	var last error
	for _, path := range in.Paths {
		if err := ctx.Err(); err != nil {
			return "", out, err
		}
		if _, err := h.svc.Trash(ctx, a, filestore.Target{Path: path, If: in.of()}); err != nil {
			out.Failed++
			last = err
			fmt.Fprintf(&failed, "\n- `%s`: %s", path, advise(a, err))
			continue
		}
		out.Deleted++
	}
	if out.Deleted == 0 && len(in.Paths) == 1 {
		return "", out, last
	}
	return fmt.Sprintf("Moved to trash %d item(s).", out.Deleted) + failed.String(), out, nil
}

func (h *handler) restore(ctx context.Context, a filestore.Access, in restoreIn) (string, FileFacts, error) {
	t := filestore.Target{Path: in.Path, If: in.of()}
	if in.Version > 0 {
		r, err := h.svc.RestoreVersion(ctx, a, t, in.Version)
		if err != nil {
			return "", FileFacts{}, err
		}
		return fmt.Sprintf("`%s` has the content of version %d again.\ncid: %s\nversion: %d", r.File.Path, in.Version, r.File.CID, r.File.Version), facts(r.File), nil
	}
	r, err := h.svc.Restore(ctx, a, t, "")
	if err != nil {
		return "", FileFacts{}, err
	}
	return fmt.Sprintf("Restored `%s` from the trash.", r.File.Path), facts(r.File), nil
}

type shareOut struct {
	Public bool   `json:"public"`
	URL    string `json:"url,omitempty"`
}

func (h *handler) share(ctx context.Context, a filestore.Access, in shareIn) (string, shareOut, error) {
	r, err := h.svc.SetPublic(ctx, a, filestore.Target{Path: in.Path, If: in.of()}, in.Public)
	if err != nil {
		return "", shareOut{}, err
	}
	if !in.Public {
		return fmt.Sprintf("`%s` is no longer public.", r.File.Path), shareOut{}, nil
	}
	url := publicURL(ctx, r.File)
	return fmt.Sprintf("`%s` is now public: %s", r.File.Path, url), shareOut{true, url}, nil
}
