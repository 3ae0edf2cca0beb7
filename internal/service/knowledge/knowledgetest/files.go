package knowledgetest

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/knowledge"
)

// Files is a file store in memory, with its feed of changes.
type Files struct {
	mu    sync.Mutex
	made  int
	files map[string]map[string]*stored // by namespace and id
	feeds map[string][]string           // ids, in order
	// Down, when set, is what every call answers.
	Down error
}

type stored struct {
	knowledge.File
	text string
}

// NewFiles makes an empty store.
func NewFiles() *Files {
	return &Files{files: map[string]map[string]*stored{}, feeds: map[string][]string{}}
}

var _ knowledge.Files = (*Files)(nil)

// Put stores a text, as a new file or a new version, and returns the file's id.
func (f *Files) Put(namespace, path, text string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.files[namespace] == nil {
		f.files[namespace] = map[string]*stored{}
	}
	for id, s := range f.files[namespace] {
		if s.Path == path {
			s.text, s.Size = text, int64(len(text))
			s.Version++
			f.feeds[namespace] = append(f.feeds[namespace], id)
			return id
		}
	}
	f.made++
	id := fmt.Sprintf("file-%d", f.made)
	f.files[namespace][id] = &stored{
		File: knowledge.File{
			ID: id, Path: path, MimeType: "text/plain", Size: int64(len(text)), Version: 1,
			Updated: time.UnixMilli(int64(f.made)),
		}, text: text,
	}
	f.feeds[namespace] = append(f.feeds[namespace], id)
	return id
}

// Move gives a file another path.
func (f *Files) Move(namespace, id, path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files[namespace][id].Path = path
	f.feeds[namespace] = append(f.feeds[namespace], id)
}

// Remove deletes a file.
func (f *Files) Remove(namespace, id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.files[namespace], id)
	f.feeds[namespace] = append(f.feeds[namespace], id)
}

// Changes implements knowledge.Files.
func (f *Files) Changes(_ context.Context, namespace string, after int64, limit int) ([]string, int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	feed := f.feeds[namespace]
	ids := feed[min(int(after), len(feed)):]
	ids = ids[:min(len(ids), limit)]
	return slices.Clone(ids), after + int64(len(ids)), f.Down
}

// LastChange implements knowledge.Files.
func (f *Files) LastChange(_ context.Context, namespace string) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return int64(len(f.feeds[namespace])), f.Down
}

// File implements knowledge.Files.
func (f *Files) File(_ context.Context, namespace, id string) (knowledge.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok := f.files[namespace][id]
	if !ok {
		return knowledge.File{}, fault.New(fault.NotFound, "no such file")
	}
	return s.File, f.Down
}

// Below implements knowledge.Files.
func (f *Files) Below(_ context.Context, namespace, folder, after string, limit int) ([]knowledge.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []knowledge.File
	for _, s := range f.files[namespace] {
		if strings.HasPrefix(s.Path, folder+"/") && s.Path > after {
			all = append(all, s.File)
		}
	}
	slices.SortFunc(all, func(a, b knowledge.File) int { return strings.Compare(a.Path, b.Path) })
	return all[:min(len(all), limit)], f.Down
}

// Open implements knowledge.Files.
func (f *Files) Open(_ context.Context, namespace, id string, version int64) (io.ReadCloser, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok := f.files[namespace][id]
	if !ok || s.Version != version {
		return nil, fault.New(fault.NotFound, "no such file")
	}
	return io.NopCloser(strings.NewReader(s.text)), f.Down
}
