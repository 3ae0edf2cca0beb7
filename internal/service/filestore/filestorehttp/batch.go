package filestorehttp

import (
	"context"
	"net/http"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/folder"
)

// MoveItems is the body of a batch of moves.
type MoveItems struct {
	Items []MoveItem `json:"items"`
}

// MoveItem is one of them.
type MoveItem struct {
	ID              string `json:"id"`
	DestinationPath string `json:"destinationPath"`
	Overwrite       bool   `json:"overwrite,omitempty"`
}

// IDList is the body of the other batches.
type IDList struct {
	IDs []string `json:"ids"`
}

// BatchResult tells for each item what became of it.
type BatchResult struct {
	Results   []ItemResult `json:"results"`
	Succeeded int          `json:"succeeded"`
	Failed    int          `json:"failed"`
}

// ItemResult is the fate of one item.
type ItemResult struct {
	ID     string `json:"id"`
	OK     bool   `json:"ok"`
	Status int    `json:"status"`
	Path   string `json:"path,omitempty"`
	Error  string `json:"error,omitempty"`
}

func (a *api) batchRoutes() []httpserver.Route {
	route := func(pattern, summary string, body any, h handler) httpserver.Route {
		return httpserver.Route{
			Method: http.MethodPost, Pattern: prefix + pattern, Summary: summary, Tags: []string{"Files"},
			Auth: httpserver.Principal,
			Body: body, Params: []httpserver.Param{onceParam}, Handler: a.with(h), MaxBody: 4 << 20,
			Replies: []httpserver.Reply{{Status: 200, Body: BatchResult{}, Doc: "What became of each item; at most 1000."}},
		}
	}
	return []httpserver.Route{
		route("/batch/move", "Move files", MoveItems{}, a.batchMove),
		route("/batch/delete", "Move files to the trash", IDList{}, a.batchIDs(filestore.Delete, a.svc.Trash)),
		route("/batch/purge", "Destroy files that are in the trash", IDList{}, a.batchIDs(filestore.Delete, a.svc.Purge)),
		route("/batch/restore", "Take files out of the trash", IDList{},
			a.batchIDs(filestore.Write,
				func(ctx context.Context, access filestore.Access, t filestore.Target) (filestore.Receipt, error) {
					return a.svc.Restore(ctx, access, t, "")
				})),
	}
}

// batch runs do for every item; a repeated one is refused.
func batch(w http.ResponseWriter, ids []string, do func(i int) (filestore.File, error)) error {
	if len(ids) == 0 || len(ids) > filestore.MaxBatch {
		return fault.Newf(fault.Invalid, "a batch has 1 to %d items", filestore.MaxBatch)
	}
	out := BatchResult{Results: make([]ItemResult, 0, len(ids))}
	seen := make(map[string]bool, len(ids))
	for i, id := range ids {
		f, err := filestore.File{}, error(fault.New(fault.Conflict, "Duplicate id"))
		if !seen[id] {
			seen[id] = true
			f, err = do(i)
		}
		if err != nil {
			e := fault.From(err)
			if e.Kind == fault.Canceled {
				return err
			}
			out.Failed++
			out.Results = append(out.Results, ItemResult{ID: id, Status: httpserver.Status(e.Kind), Error: e.Message})
			continue
		}
		out.Succeeded++
		out.Results = append(out.Results, ItemResult{ID: id, OK: true, Status: http.StatusOK, Path: f.Path})
	}
	return httpserver.WriteJSON(w, http.StatusOK, out)
}

// each binds the request's key to an item.
func each(o filestore.Once, id string) filestore.Once {
	if o.Key == "" {
		return o
	}
	return filestore.Once{Key: digest(o.Key, id), Fingerprint: o.Fingerprint}
}

// noted counts what a batch of changes notes, as an act on a folder is counted.
func (a *api) noted(access filestore.Access, from string, r filestore.Receipt, err error) {
	if err == nil && !r.Replayed {
		a.deps.Folders.Noted(access.Namespace, folder.NoteOf(from, r.File.Path))
	}
}

func (a *api) batchMove(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	if err := may(access, filestore.Write); err != nil {
		return err
	}
	if err := a.deps.Folders.MayNote(access.Namespace); err != nil {
		return err
	}
	var body MoveItems
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
		return err
	}
	ids := make([]string, len(body.Items))
	for i, item := range body.Items {
		ids[i] = item.ID
	}
	o := once(r, access)
	return batch(w, ids, func(i int) (filestore.File, error) {
		item := body.Items[i]
		once, err := bind(each(o, item.ID), item)
		if err != nil {
			return filestore.File{}, err
		}
		receipt, err := a.svc.Move(r.Context(), access, filestore.Target{ID: item.ID, Once: once}, item.DestinationPath,
			item.Overwrite)
		a.noted(access, item.DestinationPath, receipt, err)
		return receipt.File, err
	})
}

func (a *api) batchIDs(need filestore.Ability,
	do func(context.Context, filestore.Access, filestore.Target) (filestore.Receipt, error),
) handler {
	return func(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
		if err := may(access, need); err != nil {
			return err
		}
		if need == filestore.Write { // deleting is never refused
			if err := a.deps.Folders.MayNote(access.Namespace); err != nil {
				return err
			}
		}
		var body IDList
		if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
			return err
		}
		o := once(r, access)
		return batch(w, body.IDs, func(i int) (filestore.File, error) {
			receipt, err := do(r.Context(), access, filestore.Target{ID: body.IDs[i], Once: each(o, body.IDs[i])})
			a.noted(access, "", receipt, err)
			return receipt.File, err
		})
	}
}

// may refuses a batch as a whole when the token lacks the ability.
func may(a filestore.Access, need filestore.Ability) error {
	if !a.Has(need) {
		return fault.New(fault.Forbidden, "the token does not grant "+need.String()).WithCode("ability_not_granted")
	}
	return nil
}
