package call

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/pace"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callsound"
)

// Bounds of a recorder.
const (
	// maxParts is how many parts a recording may have.
	maxParts = 8000
	// maxUnstored is how much sound waits for an archive that is away.
	maxUnstored = 2 << 20
	// archiveTime bounds one step at the archive.
	archiveTime = 20 * time.Second
)

// recorder writes the sound of one call into the caller's files, part by part.
type recorder struct {
	archive Archive
	place   Place
	ref     string
	part    time.Duration
	log     *slog.Logger
	// broken is told once, when nothing more is recorded.
	broken func(why string)

	mu   sync.Mutex
	mix  *callsound.Mixer
	deaf bool // nothing more is recorded

	// What follows is the writer's alone.
	file    container
	stored  int64
	waiting []byte
}

// container makes a file of sound, a sample of each voice in turn. What it has
// appended before the end must be a file that can be heard, too.
type container interface {
	Add(dst []byte, pcm []int16, end bool) ([]byte, error)
}

// recorderOf makes the recorder of a call that is recorded, and nil for others.
func recorderOf(l *live, b identity.Brought) (*recorder, error) {
	r := l.rec
	if r.Recording.State != RecordingOn {
		return nil, nil //nolint:nilnil // this call is not recorded
	}
	file, err := formatOf(r.Recording.Path).open()
	if err != nil {
		return nil, err
	}
	return &recorder{
		archive: l.s.deps.Archive, place: Place{Owner: r.Owner, Brought: b, Path: r.Recording.Path},
		ref:  r.Recording.Ref,
		part: l.s.cfg.Part, log: l.log, mix: callsound.NewMixer(), file: file, broken: l.notRecorded,
	}, nil
}

// heard takes the caller's sound.
func (r *recorder) heard(pcm []int16) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.deaf {
		r.mix.Heard(pcm, time.Now())
	}
}

// said takes the oracle's.
func (r *recorder) said(pcm []int16) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.deaf {
		r.mix.Said(pcm, time.Now())
	}
}

// on reports whether sound is recorded.
func (r *recorder) on() bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.deaf
}

// run stores parts until ctx ends.
func (r *recorder) run(ctx context.Context) {
	pace.Every(ctx, r.part, func() bool { return r.store(ctx, false) })
}

// store stores what was heard. It returns false when recording is over.
func (r *recorder) store(ctx context.Context, end bool) bool {
	var sound []int16
	r.mu.Lock()
	deaf := r.deaf
	if !deaf {
		sound = r.mix.Take(nil, time.Now(), end)
	}
	r.mu.Unlock()
	if deaf {
		return false
	}
	var err error
	if r.waiting, err = r.file.Add(r.waiting, sound, end); err != nil {
		r.stop(err)
		return false
	}
	if len(r.waiting) == 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), archiveTime)
	defer cancel()
	err = r.archive.Append(ctx, r.place, r.ref, r.stored, r.waiting)
	switch {
	case err == nil:
		r.stored += int64(len(r.waiting))
		r.waiting = r.waiting[:0]
		r.log.Debug("a part of a recording is stored", slog.Int64("bytes", r.stored))
		return true
	case passing(err) && len(r.waiting) < maxUnstored && !end:
		r.log.Warn("a part of a recording waits", slog.String("event", "recording.part_waits"), slog.Any("error", err))
		return true
	}
	r.stop(err)
	return false
}

// stop records nothing more.
func (r *recorder) stop(err error) {
	r.log.Warn("a call is no longer recorded", slog.String("event", "recording.stopped"), slog.Any("error", err))
	r.mu.Lock()
	r.deaf, r.mix = true, callsound.NewMixer()
	r.mu.Unlock()
	r.waiting = nil
	r.broken(publicText(err))
}

// passing reports whether a failure may be over in a while.
func passing(err error) bool {
	switch fault.KindOf(err) {
	case fault.Internal, fault.Unavailable, fault.RateLimited, fault.Timeout, fault.Canceled:
		return true
	}
	return false
}

// close stores the rest and makes a file of it, after run has returned.
func (r *recorder) close(ctx context.Context) (RecordingState, error) {
	r.store(ctx, true)
	ctx, cancel := context.WithTimeout(ctx, archiveTime)
	defer cancel()
	return finishRecording(ctx, r.archive, r.place, r.ref)
}

// finishRecording makes a file of a recording. Without an error the state is final.
func finishRecording(ctx context.Context, a Archive, p Place, ref string) (RecordingState, error) {
	kept, err := a.Finish(ctx, p, ref)
	switch {
	case fault.Is(err, fault.NotFound):
		return RecordingFailed, nil
	case err != nil:
		return RecordingOn, err
	case kept:
		return RecordingSaved, nil
	}
	return RecordingEmpty, nil
}
