package filestorehttp

import (
	"net/http"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/contenthttp"
	"github.com/castalia-org/castalia/internal/service/filestore/folder"
)

// MoveBody is the body of a move or a copy by path.
type MoveBody struct {
	From      string `json:"from"`
	To        string `json:"to"`
	Overwrite bool   `json:"overwrite,omitempty"`
	// Onto says what becomes of what is at the destination; without it Overwrite does.
	Onto string `json:"onto,omitempty"`
}

func (b MoveBody) onto() (folder.Onto, error) {
	if b.Onto == "" {
		return folder.OntoFlag(b.Overwrite), nil
	}
	return folder.ParseOnto(b.Onto)
}

// Moved says how many files and made folders a move or a copy reached; File is there
// when it was one file.
type Moved struct {
	Count int           `json:"count"`
	File  *FileMetadata `json:"file,omitempty"`
}

// FolderBody names a folder.
type FolderBody struct {
	Path string `json:"path"`
}

// FolderMade is a folder that stays when it is empty.
type FolderMade struct {
	Path      string `json:"path"`
	CreatedAt string `json:"createdAt"`
}

// FolderList is a page of folders.
type FolderList struct {
	Folders []FolderMade `json:"folders"`
}

func (a *api) folderRoutes() []httpserver.Route {
	route := func(method, pattern, summary string, h handler, body, reply any,
		params ...httpserver.Param,
	) httpserver.Route {
		return httpserver.Route{
			Method: method, Pattern: prefix + pattern, Summary: summary, Tags: []string{"Files"}, Auth: httpserver.Principal,
			Body: body, Params: params, Handler: a.with(h),
			Replies: []httpserver.Reply{{Status: 200, Body: reply}, {Status: 409, Doc: "Occupied, or a file and a folder would have the same name (`name_taken`)."}},
		}
	}
	const onto = " `onto` says more than overwrite: `nothing` refuses where anything is, also a folder; `merge` puts folders together unless two files meet; " +
		"`overwrite` is that with what it meets going to the trash; `replace` puts all that is there into the trash."
	const oneAct = "A folder is one act: all of it or nothing, up to 10,000 files."
	move := route(http.MethodPost, "/move", "Move a file or a folder by path", a.movePath, MoveBody{}, Moved{}, onceParam, matchParam)
	move.Doc = oneAct + " What overwrite meets at the destination goes to the trash." + onto
	duplicate := route(http.MethodPost, "/copy", "Copy a file or a folder by path", a.copyPath, MoveBody{}, Moved{}, onceParam)
	duplicate.Doc = oneAct + " No bytes move. A file that overwrite meets gets a new version when a file is copied, and goes to the trash when a folder is." + onto
	duplicate.Replies = append(duplicate.Replies, httpserver.Reply{Status: 507, Doc: "The namespace's quota is used up (`quota_exceeded`)."})
	create := route(http.MethodPost, "/folders", "Make a folder that stays when it is empty", a.makeFolder, FolderBody{}, FolderMade{})
	create.Doc = "200 when it was made before. Folders that have files need not be made."
	create.Replies = append(create.Replies, httpserver.Reply{Status: 201, Body: FolderMade{}})
	list := route(http.MethodGet, "/folders", "List the folders that stay when they are empty", a.listFolders, nil, FolderList{},
		httpserver.Param{Name: "path", In: "query", Doc: "Folder: it is listed too if it was made, with those below; / when absent."},
		httpserver.Param{Name: "limit", In: "query", Schema: 0, Doc: "At most 1000, which is usual."},
		httpserver.Param{Name: "after", In: "query", Doc: "The last path of the page before."})
	list.Doc = "In path order, empty or not. Folders that files imply are not listed: `/files` shows them."
	list.Replies = list.Replies[:1]
	remove := route(http.MethodDelete, "/folders", "Move a folder with all in it to the trash", a.removeFolder, nil, Moved{}, pathParam, onceParam,
		httpserver.Param{Name: "empty", In: "query", Doc: "true: refuse (409 `folder_not_empty`) where anything is in it."})
	remove.Doc = oneAct + " Folders that are empty are forgotten."
	publish := route(http.MethodPut, "/folders/public", "Make every file below a folder public, or end that", a.publishFolder, PublicFlag{}, PublicState{},
		pathParam, publicParam, onceParam, matchParam)
	publish.MaxBody = maxFlagBody
	return []httpserver.Route{move, duplicate, list, create, remove, publish}
}

// twoPaths reads the body of a move or a copy.
func (a *api) twoPaths(w http.ResponseWriter, r *http.Request, access filestore.Access) (folder.Ends, error) {
	var body MoveBody
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
		return folder.Ends{}, err
	}
	onto, err := body.onto()
	if err != nil {
		return folder.Ends{}, err
	}
	o, err := bind(once(r, access), body)
	return folder.Ends{From: body.From, To: body.To, Onto: onto, Once: o}, err
}

func (a *api) movePath(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	e, err := a.twoPaths(w, r, access)
	if err != nil {
		return err
	}
	c, err := contenthttp.Condition(r)
	if err != nil {
		return err
	}
	// A file on its way meets at most one file, unless a whole folder is to make room for it.
	receipt, err := a.svc.Move(r.Context(), access, filestore.Target{Path: e.From, If: c, Once: e.Once}, e.To,
		e.Onto == folder.Overwrite || e.Onto == folder.Replace)
	isTaken := err != nil && fault.From(err).Code == "name_taken"
	if fault.Is(err, fault.NotFound) || isTaken && e.Onto == folder.Replace {
		receipt, err = a.deps.Folders.Move(r.Context(), access, e)
	}
	return a.moved(w, r, receipt, err)
}

func (a *api) copyPath(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	e, err := a.twoPaths(w, r, access)
	if err != nil {
		return err
	}
	receipt, err := a.deps.Folders.Copy(r.Context(), access, e)
	return a.moved(w, r, receipt, err)
}

// moved answers with the file, or with how many there were in a folder.
func (a *api) moved(w http.ResponseWriter, r *http.Request, receipt filestore.Receipt, err error) error {
	if err != nil {
		return err
	}
	if receipt.Count > 0 { // a folder
		return httpserver.WriteJSON(w, http.StatusOK, Moved{Count: receipt.Count})
	}
	m := a.metadata(r, receipt.File)
	return httpserver.WriteJSON(w, http.StatusOK, Moved{1, &m})
}

func (a *api) makeFolder(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	var body FolderBody
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
		return err
	}
	f, created, err := a.deps.Folders.Make(r.Context(), access, body.Path)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return httpserver.WriteJSON(w, status, FolderMade{f.Path, stamp(f.Created)})
}

func (a *api) listFolders(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	limit, err := number(r, "limit", 1, folder.MaxListed, folder.MaxListed)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	folders, err := a.deps.Folders.Made(r.Context(), access, q.Get("path"), q.Get("after"), limit)
	if err != nil {
		return err
	}
	out := FolderList{Folders: make([]FolderMade, 0, len(folders))}
	for _, f := range folders {
		out.Folders = append(out.Folders, FolderMade{f.Path, stamp(f.Created)})
	}
	return httpserver.WriteJSON(w, http.StatusOK, out)
}

func (a *api) removeFolder(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	path, err := pathOf(r)
	if err != nil {
		return err
	}
	remove := a.deps.Folders.Trash
	switch r.URL.Query().Get("empty") {
	case "", "false":
	case "true":
		remove = a.deps.Folders.Drop
	default:
		return fault.New(fault.Invalid, "empty is true or false")
	}
	receipt, err := remove(r.Context(), access, path, once(r, access))
	return a.moved(w, r, receipt, err)
}

func (a *api) publishFolder(w http.ResponseWriter, r *http.Request, access filestore.Access) error {
	public, err := flag(r, "public")
	if err != nil {
		return err
	}
	path, err := pathOf(r)
	if err != nil {
		return err
	}
	n, err := a.svc.SetFolderPublic(r.Context(), access, path, public)
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, PublicState{Public: public, Count: n})
}
