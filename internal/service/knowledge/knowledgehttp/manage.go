package knowledgehttp

import (
	"net/http"
	"strconv"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/knowledge"
)

// abilityList is what it takes to know which documents there are.
const abilityList = "fs/list"

// CollectionBody makes a collection.
type CollectionBody struct {
	Name string `json:"name"`
	// Folder is /knowledge/NAME unless given.
	Folder string `json:"folder,omitempty"`
	// Readers are everybody, members, named or delegates.
	Readers string `json:"readers"`
	// DIDs are the named readers.
	DIDs []string `json:"dids,omitempty"`
}

// ChangeBody changes what it has, and nothing else. DIDs without readers are those of
// a collection that is for named readers already.
type ChangeBody struct {
	Name    *string  `json:"name,omitempty"`
	Readers *string  `json:"readers,omitempty"`
	DIDs    []string `json:"dids,omitempty"`
}

// CountsEntry are documents by state.
type CountsEntry struct {
	Waiting int64 `json:"waiting"`
	Reading int64 `json:"reading"`
	Read    int64 `json:"read"`
	Failed  int64 `json:"failed"`
}

// CollectionEntry is a collection as its owner sees it.
type CollectionEntry struct {
	ID        string      `json:"id"`
	Name      string      `json:"name"`
	Folder    string      `json:"folder"`
	Readers   string      `json:"readers"`
	DIDs      []string    `json:"dids"`
	CreatedAt string      `json:"createdAt"`
	UpdatedAt string      `json:"updatedAt"`
	Documents CountsEntry `json:"documents"`
	// Published says whether the chosen readers may read; Waiting what is missing.
	Published bool   `json:"published"`
	Waiting   string `json:"waiting,omitempty"`
	// Complete says that all files of the folder are in the list of documents.
	Complete bool `json:"complete"`
}

// CollectionList is a list of collections.
type CollectionList struct {
	Collections []CollectionEntry `json:"collections"`
}

// DocumentEntry is a document and how far it is.
type DocumentEntry struct {
	ID   string `json:"id"`
	Path string `json:"path"`
	// State is waiting, reading, read or failed; Why says what went wrong, or was left out.
	State     string `json:"state"`
	Why       string `json:"why,omitempty"`
	Pages     int    `json:"pages,omitempty"`
	Language  string `json:"language,omitempty"`
	Passages  int    `json:"passages"`
	Size      int64  `json:"size"`
	Version   int64  `json:"version"`
	ChangedAt string `json:"changedAt"`
	ReadAt    string `json:"readAt,omitempty"`
}

// DocumentList is a page of documents.
type DocumentList struct {
	Documents []DocumentEntry `json:"documents"`
	// Next is what to pass as after; empty at the end.
	Next string `json:"next,omitempty"`
}

func collectionEntry(c knowledge.Collection, n knowledge.Counts) CollectionEntry {
	return CollectionEntry{
		Published: c.Published(), Waiting: waiting(c),
		ID: c.ID, Name: c.Name, Folder: c.Folder, Readers: string(c.Readers), DIDs: append([]string{}, c.DIDs...),
		CreatedAt: stamp(c.Created), UpdatedAt: stamp(c.Updated), Complete: c.Scanned,
		Documents: CountsEntry{n.Waiting, n.Reading, n.Read, n.Failed},
	}
}

// waiting says what a collection waits for.
func waiting(c knowledge.Collection) string {
	if c.Published() {
		return ""
	}
	return "This collection is waiting for an operator: until one publishes it, nobody but you and whom you gave a delegation can ask it."
}

func (a *api) create(w http.ResponseWriter, r *http.Request, p identity.Principal) error {
	managed, err := knowledge.ManagedBy(p)
	if err != nil {
		return err
	}
	var body CollectionBody
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
		return err
	}
	c, err := a.svc.Create(r.Context(), managed, knowledge.NewCollection{
		Name: body.Name, Folder: body.Folder, Readers: knowledge.Readers(body.Readers), DIDs: body.DIDs,
	})
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusCreated, collectionEntry(c, knowledge.Counts{}))
}

func (a *api) list(w http.ResponseWriter, r *http.Request, p identity.Principal) error {
	listed, err := knowledge.ListedBy(p, abilityList)
	if err != nil {
		return err
	}
	all, counts, err := a.svc.Store.CollectionsOf(r.Context(), listed)
	if err != nil {
		return err
	}
	out := CollectionList{Collections: []CollectionEntry{}}
	for i, c := range all {
		out.Collections = append(out.Collections, collectionEntry(c, counts[i]))
	}
	return httpserver.WriteJSON(w, http.StatusOK, out)
}

func (a *api) change(w http.ResponseWriter, r *http.Request, p identity.Principal) error {
	managed, err := knowledge.ManagedBy(p)
	if err != nil {
		return err
	}
	var body ChangeBody
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
		return err
	}
	changes := knowledge.Changes{Name: body.Name, DIDs: body.DIDs}
	if body.Readers != nil {
		readers := knowledge.Readers(*body.Readers)
		changes.Readers = &readers
	}
	c, err := a.svc.Change(r.Context(), managed, r.PathValue("id"), changes)
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, collectionEntry(c, knowledge.Counts{}))
}

func (a *api) remove(w http.ResponseWriter, r *http.Request, p identity.Principal) error {
	managed, err := knowledge.ManagedBy(p)
	if err != nil {
		return err
	}
	if err := a.svc.Delete(r.Context(), managed, r.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *api) documents(w http.ResponseWriter, r *http.Request, p identity.Principal) error {
	limit := knowledge.MaxPage
	if text := r.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fault.New(fault.Invalid, "limit must be a number of at least 1")
		}
		limit = min(n, knowledge.MaxPage)
	}
	listed, err := knowledge.ListedBy(p, abilityList)
	if err != nil {
		return err
	}
	c, err := a.svc.Store.Collection(r.Context(), listed, r.PathValue("id"))
	if err != nil {
		return err
	}
	all, err := a.svc.Store.Documents(r.Context(), c.Namespace, c.ID, r.URL.Query().Get("after"), limit)
	if err != nil {
		return err
	}
	out := DocumentList{Documents: make([]DocumentEntry, 0, len(all))}
	for _, d := range all {
		out.Documents = append(out.Documents, DocumentEntry{
			ID: d.FileID, Path: d.Path, State: d.State.String(), Why: d.Why, Pages: d.Pages, Language: d.Language,
			Passages: d.Passages, Size: d.Size,
			Version: d.Version, ChangedAt: stamp(d.Changed), ReadAt: stamp(d.Read),
		})
	}
	if len(all) == limit {
		out.Next = all[limit-1].Path
	}
	return httpserver.WriteJSON(w, http.StatusOK, out)
}
