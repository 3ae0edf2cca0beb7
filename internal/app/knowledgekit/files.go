package knowledgekit

import (
	"context"
	"io"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge/inquiry"
)

// files is the file store as the owner of a collection's folder sees it.
type files struct{ svc *filestore.Service }

var _ knowledge.Files = files{}

// Changes implements knowledge.Files.
func (f files) Changes(ctx context.Context, namespace string, after int64, limit int) ([]string, int64, error) {
	events, next, err := f.svc.Changes(ctx, filestore.Owner(namespace), after, limit)
	if err != nil {
		return nil, after, err
	}
	var ids []string
	known := map[string]bool{}
	for _, e := range events {
		if e.FileID != "" && !known[e.FileID] {
			known[e.FileID] = true
			ids = append(ids, e.FileID)
		}
	}
	return ids, next, nil
}

// LastChange implements knowledge.Files.
func (f files) LastChange(ctx context.Context, namespace string) (int64, error) {
	return f.svc.LastChange(ctx, namespace)
}

func fileOf(f filestore.File) knowledge.File {
	return knowledge.File{
		ID: f.ID, Path: f.Path, MimeType: f.MimeType, Size: f.Size, Version: f.Version, Updated: f.Updated,
	}
}

// File implements knowledge.Files.
func (f files) File(ctx context.Context, namespace, id string) (knowledge.File, error) {
	found, err := f.svc.StatID(ctx, filestore.Owner(namespace), id)
	if err == nil && !found.Trashed.IsZero() {
		return knowledge.File{}, fault.New(fault.NotFound, "the file is in the trash")
	}
	return fileOf(found), err
}

// Below implements knowledge.Files.
func (f files) Below(ctx context.Context, namespace, folder, after string, limit int) ([]knowledge.File, error) {
	found, err := f.svc.List(ctx, filestore.Owner(namespace), folder+"/", filestore.Page{After: after, Limit: limit})
	out := make([]knowledge.File, 0, len(found))
	for _, one := range found {
		out = append(out, fileOf(one))
	}
	return out, err
}

// Open implements knowledge.Files.
func (f files) Open(ctx context.Context, namespace, id string, version int64) (io.ReadCloser, error) {
	_, opened, err := f.svc.OpenVersion(ctx, filestore.Owner(namespace), id, version)
	if err != nil {
		return nil, err
	}
	return opened.Range(0, -1)
}

// admit refuses a token for files whose share link is over.
func (f files) admit(ctx context.Context, p identity.Principal) error {
	a, err := filestore.AccessOf(p)
	if err != nil {
		for _, ability := range []string{knowledge.AbilityRead, inquiry.Ability} {
			if _, _, other := p.Areas(ability); other == nil { // it reaches passages and no files
				return f.svc.Admit(ctx, chainOf(p))
			}
		}
		return err
	}
	return f.svc.Admit(ctx, a)
}

// counted reports whether a token is by a share link for a number of readings.
func (f files) counted(ctx context.Context, p identity.Principal) (bool, error) {
	return f.svc.CountsUses(ctx, chainOf(p))
}

// chainOf is an access that has the tokens of a principal alone: a link among them counts,
// whichever ability is claimed by it.
func chainOf(p identity.Principal) (a filestore.Access) {
	for _, link := range p.Chain {
		a.Chain = append(a.Chain, link.CID)
	}
	return a
}
