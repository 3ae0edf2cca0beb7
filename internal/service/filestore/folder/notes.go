package folder

import (
	"math"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// Every change is noted with its paths, and notes are in no quota: where a request makes one
// note, the limit on requests bounds them. A move, copy or restore of many files makes
// thousands in one request. By those a namespace may note this much at once on a node, and
// this much a second in the long run; deleting counts too, but is never refused.
const (
	notesAtOnce   = 256 << 20
	notesASecond  = 64 << 10
	noteBytes     = 512 // of one change, beside its paths
	notesTidiedAt = 4096
)

// notes is what namespaces noted, less what they could have noted since.
type notes struct {
	mu sync.Mutex
	by map[string]noted
}

type noted struct {
	bytes float64
	at    time.Time
}

func (n noted) left(now time.Time) float64 {
	return math.Max(0, n.bytes-notesASecond*math.Max(0, now.Sub(n.at).Seconds()))
}

// NoteOf is about how many bytes it takes to note that a file went from one path to another.
func NoteOf(from, to string) int64 { return int64(noteBytes + len(from) + len(to)) }

// MayNote refuses an act on many files of a namespace that noted too much lately.
func (s *Service) MayNote(namespace string) error {
	s.notes.mu.Lock()
	defer s.notes.mu.Unlock()
	over := s.notes.by[namespace].left(s.files.Now()) - notesAtOnce
	if over <= 0 {
		return nil
	}
	wait := time.Duration(math.Ceil(over/notesASecond)) * time.Second
	return fault.New(fault.RateLimited, "a great many files were moved, copied or restored here lately: wait before you move, copy or restore more").
		WithCode("too_many_changes").WithRetryAfter(wait)
}

// Noted counts what an act on many files noted.
func (s *Service) Noted(namespace string, bytes int64) {
	if bytes == 0 {
		return
	}
	now := s.files.Now()
	s.notes.mu.Lock()
	defer s.notes.mu.Unlock()
	if s.notes.by == nil {
		s.notes.by = map[string]noted{}
	}
	if len(s.notes.by) >= notesTidiedAt {
		for ns, n := range s.notes.by {
			if n.left(now) == 0 {
				delete(s.notes.by, ns)
			}
		}
	}
	s.notes.by[namespace] = noted{s.notes.by[namespace].left(now) + float64(bytes), now}
}
