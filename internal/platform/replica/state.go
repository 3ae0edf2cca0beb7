package replica

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/castalia-org/castalia/internal/platform/sqldb/walscan"
)

// StateFile is the name of what a server remembers of its replica, in its data folder.
const StateFile = "replica.json"

// state is what the next process has to know to go on where this one ended. It is
// written without a sync, except before the log may be begun anew: whatever the disk
// keeps of it is compared with the log and with the replica, and when they do not fit a
// new generation is begun.
type state struct {
	Deployment string           `json:"deployment"`
	Signer     string           `json:"signer"`
	Generation int64            `json:"generation"` // the last one that was claimed from here
	At         mark             `json:"at"`         // the last piece that is there
	Made       int64            `json:"made"`       // and when it was made
	Position   walscan.Position `json:"position"`
	Base       baseState        `json:"base"`
	// Next is a piece that may be there, or not.
	Next *nextPiece `json:"next,omitempty"`
	// Closed is the database file as it was left, all of it in the replica.
	Closed *fileState `json:"closed,omitempty"`
}

// baseState tells when the next base is due.
type baseState struct {
	There  bool  `json:"there"`
	Made   int64 `json:"made"`
	Bytes  int64 `json:"bytes"`  // of the base
	Since  int64 `json:"since"`  // bytes of pieces behind it
	Pieces int64 `json:"pieces"` // behind it
}

type nextPiece struct {
	Name     string           `json:"name"`
	At       mark             `json:"at"`
	Made     int64            `json:"made"`
	Position walscan.Position `json:"position"`
	Bytes    int64            `json:"bytes"`
}

type fileState struct {
	Size     int64 `json:"size"`
	Modified int64 `json:"modified"` // nanoseconds
}

func fileStateOf(path string) (fileState, error) {
	info, err := os.Stat(path)
	if err != nil {
		return fileState{}, err
	}
	return fileState{info.Size(), info.ModTime().UnixNano()}, nil
}

func (s state) save(path string, durable bool) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	part := path + ".part"
	file, err := os.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	if err == nil && durable {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := os.Rename(part, path); err != nil || !durable {
		return err
	}
	return syncFolder(path)
}

// forget deletes what save wrote.
func forget(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncFolder(path)
}

// syncFolder has the folder of a file keep its names.
func syncFolder(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// loadState returns what an earlier process left, if it fits what is in the folder.
// Call it before the database is opened.
func loadState(folder, database string) (state, bool, error) {
	text, err := os.ReadFile(filepath.Join(folder, StateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return state{}, false, nil
	}
	if err != nil {
		return state{}, false, err
	}
	var s state
	if json.Unmarshal(text, &s) != nil || !s.Base.There {
		return state{}, false, nil
	}
	log, err := os.Open(database + "-wal")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.closed(database)
	case err != nil:
		return state{}, false, err
	}
	defer func() { _ = log.Close() }()
	if info, err := log.Stat(); err != nil || info.Size() == 0 {
		return s.closed(database)
	}
	s.Closed = nil
	for _, at := range []*walscan.Position{&s.Position, s.Next.position()} {
		if at == nil {
			continue
		}
		if ok, err := walscan.Holds(log, *at); !ok || err != nil {
			return state{}, false, err
		}
	}
	return s, true, nil
}

func (n *nextPiece) position() *walscan.Position {
	if n == nil {
		return nil
	}
	return &n.Position
}

// closed says whether the database is as it was left, without a log.
func (s state) closed(database string) (state, bool, error) {
	now, err := fileStateOf(database)
	if err != nil || s.Closed == nil || *s.Closed != now || s.Next != nil {
		return state{}, false, nil //nolint:nilerr // then there is nothing to go on with
	}
	s.Closed, s.Position = nil, walscan.Position{}
	return s, true, nil
}
