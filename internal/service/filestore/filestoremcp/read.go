package filestoremcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filetext"
)

// lineWindow is which lines of a file are read.
type lineWindow struct {
	Offset int `json:"offset,omitempty" jsonschema:"first line, from 1"`
	Limit  int `json:"limit,omitempty" jsonschema:"lines to read, 2000 unless given"`
}

// of never refuses: an agent's odd numbers become sensible ones.
func (w lineWindow) of() filetext.Window {
	return filetext.Window{Offset: max(w.Offset, 1), Limit: min(max(w.Limit, 0), filetext.MaxLines)}
}

type pathIn struct {
	Path string `json:"path" jsonschema:"absolute path of the file"`
}

type readIn struct {
	pathIn
	lineWindow
}

type readCIDIn struct {
	CID string `json:"cid" jsonschema:"CID of the file"`
	lineWindow
}

type diffIn struct {
	pathIn
	From int64 `json:"from,omitempty" jsonschema:"older version; the one before to unless given"`
	To   int64 `json:"to,omitempty" jsonschema:"newer version; the current one unless given"`
}

type readOut struct {
	FileFacts
	Offset     int  `json:"offset"`
	Count      int  `json:"count"`
	HasMore    bool `json:"hasMore"`
	TotalLines int  `json:"totalLines"`
}

func (h *handler) addReadTools(s *mcp.Server, shown filestore.Ability, cidsOnly bool) {
	add(s, shown, cidsOnly, tool{
		name: "vfs_read", title: "Read a text file", need: filestore.Read, readOnly: true,
		description: "Read a text file with numbered lines, a window at a time. The result says how to continue.",
	}, func(ctx context.Context, a filestore.Access, in readIn) (string, readOut, error) {
		l, err := h.text.ReadPathLines(ctx, a, in.Path, in.of())
		if fault.Is(err, fault.UnsupportedMedia) {
			return h.binary(ctx, a, in.Path)
		}
		return lines(l, err, "vfs_read")
	})
	add(s, shown, cidsOnly, tool{
		name: "vfs_read_cid", title: "Read a text file by CID", need: filestore.Read, readOnly: true, byCID: true,
		description: "Read a text file by the CID of its content, with numbered lines, a window at a time.",
	}, func(ctx context.Context, a filestore.Access, in readCIDIn) (string, readOut, error) {
		l, err := h.text.ReadCIDLines(ctx, a, in.CID, in.of())
		return lines(l, err, "vfs_read_cid")
	})
	add(s, shown, cidsOnly, tool{
		name: "vfs_stat", title: "Describe a file", need: filestore.List, readOnly: true,
		description: "Tell a file's CID, version, size, media type and whether it is public.",
	}, h.stat)
	add(s, shown, cidsOnly, tool{
		name: "vfs_versions", title: "List a file's versions", need: filestore.Read, readOnly: true,
		description: "List the retained versions of a file, newest first, with who made each.",
	}, h.versions)
	add(s, shown, cidsOnly, tool{
		name: "vfs_diff", title: "Compare two versions", need: filestore.Read, readOnly: true,
		description: "Show what changed between two versions of a text file, as a unified diff.",
	}, h.diff)
}

func lines(l filetext.Lines, err error, again string) (string, readOut, error) {
	if err != nil {
		return "", readOut{}, err
	}
	out := readOut{facts(l.File), l.Offset, l.Count, l.More, l.Total}
	switch {
	case l.Total == 0:
		return "(empty file)", out, nil
	case l.Count == 0:
		return fmt.Sprintf("(the file has %d lines: nothing from line %d on)", l.Total, l.Offset), out, nil
	case l.More:
		return l.Text + fmt.Sprintf("… more lines below (%d total). Call %s again with offset=%d to continue.", l.Total, again, l.Offset+l.Count), out, nil
	default:
		return l.Text, out, nil
	}
}

// binary describes a file that has no lines.
func (h *handler) binary(ctx context.Context, a filestore.Access, path string) (string, readOut, error) {
	f, err := h.svc.Stat(ctx, a, path)
	if err != nil {
		return "", readOut{}, err
	}
	link := ""
	if f.PublicID != "" {
		link = " — public link: " + publicURL(ctx, f)
	}
	return fmt.Sprintf("[binary file %q — %s, %d bytes — not rendered%s]", f.Name, f.MimeType, f.Size, link), readOut{FileFacts: facts(f)}, nil
}

type statOut struct {
	FileFacts
	MimeType    string `json:"mimeType"`
	ContentHash string `json:"contentHash"`
	UpdatedAt   string `json:"updatedAt"`
	Public      bool   `json:"public"`
}

func (h *handler) stat(ctx context.Context, a filestore.Access, in pathIn) (string, statOut, error) {
	f, err := h.svc.Stat(ctx, a, in.Path)
	if err != nil {
		return "", statOut{}, err
	}
	updated := f.Updated.UTC().Format("2006-01-02T15:04:05Z")
	text := fmt.Sprintf("%s\ncid: %s\nversion: %d\nsize: %d bytes\ntype: %s\nupdated: %s\npublic: %v", f.Path, f.CID, f.Version, f.Size, f.MimeType, updated, f.PublicID != "")
	return text, statOut{facts(f), f.MimeType, f.Hash, updated, f.PublicID != ""}, nil
}

func (h *handler) versions(ctx context.Context, a filestore.Access, in pathIn) (string, countOut, error) {
	f, err := h.svc.Stat(ctx, a, in.Path)
	if err != nil {
		return "", countOut{}, err
	}
	all, err := h.svc.Versions(ctx, a, f.ID)
	if err != nil {
		return "", countOut{}, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d version(s) of `%s`:\n", len(all), f.Path)
	for _, v := range all {
		fmt.Fprintf(&b, "%d. %s (%d bytes) %s by %s\n", v.Number, v.CID, v.Size, v.Created.UTC().Format("2006-01-02T15:04:05Z"), v.Invoker)
	}
	return b.String(), countOut{Count: len(all)}, nil
}

func (h *handler) diff(ctx context.Context, a filestore.Access, in diffIn) (string, FileFacts, error) {
	text, f, err := h.text.Diff(ctx, a, in.Path, max(in.From, 0), max(in.To, 0))
	if err != nil {
		return "", FileFacts{}, err
	}
	if text == "" {
		text = "The versions are equal."
	}
	return text, facts(f), nil
}
