package filestorehttp

import (
	"net/http"
	"time"

	"github.com/castalia-org/castalia/internal/service/filestore"
)

// FileMetadata is a file as clients read it.
type FileMetadata struct {
	ID          string `json:"id"`
	Path        string `json:"path"`
	Name        string `json:"name"`
	MimeType    string `json:"mimeType"`
	Size        int64  `json:"size"`
	Version     int64  `json:"version"`
	ContentHash string `json:"contentHash"`
	CID         string `json:"cid"`
	Hidden      bool   `json:"hidden"`
	PublicURL   string `json:"publicUrl,omitempty"`
	CreatedAt   string `json:"createdAt"`
	UpdatedAt   string `json:"updatedAt"`
	TrashedAt   string `json:"trashedAt,omitempty"`
	Snippet     string `json:"snippet,omitempty"`
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

func (a *api) metadata(r *http.Request, f filestore.File) FileMetadata {
	m := FileMetadata{
		ID: f.ID, Path: f.Path, Name: f.Name, MimeType: f.MimeType, Size: f.Size, Version: f.Version, ContentHash: f.Hash,
		CID:    f.CID,
		Hidden: f.Hidden, CreatedAt: stamp(f.Created), UpdatedAt: stamp(f.Updated), TrashedAt: stamp(f.Trashed),
	}
	if f.PublicID != "" {
		m.PublicURL = a.base(r) + "/public/id/" + f.PublicID
	}
	return m
}

func (a *api) metadatas(r *http.Request, files []filestore.File) []FileMetadata {
	out := make([]FileMetadata, 0, len(files))
	for _, f := range files {
		out = append(out, a.metadata(r, f))
	}
	return out
}

// FileList is a page of files.
type FileList struct {
	Files     []FileMetadata `json:"files"`
	Truncated bool           `json:"truncated,omitempty"`
	// Cut says what was not looked at, and why.
	Cut string `json:"cut,omitempty"`
}

// Node is an entry of a folder.
type Node struct {
	Path      string `json:"path"`
	Name      string `json:"name"`
	Type      string `json:"type"`
	ID        string `json:"id,omitempty"`
	MimeType  string `json:"mimeType,omitempty"`
	Size      *int64 `json:"size,omitempty"`
	CID       string `json:"cid,omitempty"`
	Version   int64  `json:"version,omitempty"`
	UpdatedAt string `json:"updatedAt,omitempty"`
}

// NodeList is a folder, or a page of a large one: ask again with Next.
type NodeList struct {
	Nodes []Node `json:"nodes"`
	Next  string `json:"next,omitempty"`
}

// CIDEntry is a file that can be addressed by CID.
type CIDEntry struct {
	CID      string `json:"cid"`
	ID       string `json:"id"`
	Path     string `json:"path"`
	Name     string `json:"name"`
	Size     int64  `json:"size"`
	MimeType string `json:"mimeType"`
}

// CIDList is a page of them and how many there are.
type CIDList struct {
	CIDs  []CIDEntry `json:"cids"`
	Total int64      `json:"total"`
}

// LineWindow is a numbered part of a text file.
type LineWindow struct {
	Text       string `json:"text"`
	Offset     int    `json:"offset"`
	Count      int    `json:"count"`
	HasMore    bool   `json:"hasMore"`
	TotalLines int    `json:"totalLines"`
}

// PublicState says whether something is public.
type PublicState struct {
	Public    bool   `json:"public"`
	PublicURL string `json:"publicUrl,omitempty"`
	Count     int    `json:"count,omitempty"`
}

// VersionEntry is one version of a file.
type VersionEntry struct {
	Version     int64  `json:"version"`
	CID         string `json:"cid"`
	ContentHash string `json:"contentHash"`
	Size        int64  `json:"size"`
	MimeType    string `json:"mimeType"`
	CreatedAt   string `json:"createdAt"`
	Invoker     string `json:"invoker"`
	Actor       string `json:"actor"`
}

// VersionList is a file's history, newest first.
type VersionList struct {
	Versions []VersionEntry `json:"versions"`
}

// EditResult is what an edit did.
type EditResult struct {
	FileMetadata
	Replacements int    `json:"replacements"`
	Diff         string `json:"diff,omitempty"`
	DryRun       bool   `json:"dryRun,omitempty"`
}
