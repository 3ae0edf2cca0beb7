package call

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
)

// What is done about recordings whose calls ended without them being finished:
// their node died, or the files were away.
const (
	// recordingGrace, in leases, is how long the node of a call has the first say:
	// it may be storing the rest. lostGrace is for nodes that lost their calls; one
	// that was only cut off notices as soon as it is back.
	recordingGrace = 4
	lostGrace      = 1
	// recordingAgain is the time between attempts, recordingGiveUp their end.
	recordingAgain  = time.Minute
	recordingGiveUp = 24 * time.Hour
)

// beginRecording opens the recording of a call that does not exist yet.
func (s *Service) beginRecording(ctx context.Context, r Record, f RecordingFormat,
	b identity.Brought,
) (Recording, error) {
	if s.deps.Archive == nil {
		return Recording{}, errNoArchive
	}
	out := Recording{State: RecordingOn, Path: recordingPath(r.ID, r.CreatedAt, f)}
	var err error
	out.Ref, err = s.deps.Archive.Begin(ctx, Place{Owner: r.Owner, Brought: b, Path: out.Path})
	return out, err
}

// dropRecording forgets the recording of a call that was not made.
func (s *Service) dropRecording(ctx context.Context, r Record, b identity.Brought) {
	if r.Recording.State != RecordingOn {
		return
	}
	p := Place{Owner: r.Owner, Brought: b, Path: r.Recording.Path}
	if _, err := s.deps.Archive.Finish(context.WithoutCancel(ctx), p, r.Recording.Ref); err != nil {
		s.log.Debug("an empty recording ends by itself", slog.Any("error", err))
	}
}

// record starts writing; stop ends it and waits.
func (l *live) record() (stop func()) {
	ctx, cancel := context.WithCancel(l.s.base)
	var done sync.WaitGroup
	done.Go(func() { l.recorder.run(ctx) })
	return func() {
		cancel()
		done.Wait()
	}
}

// notRecorded tells the page that there is no more recording.
func (l *live) notRecorded(why string) {
	l.mu.Lock()
	t := l.talk
	l.mu.Unlock()
	if t != nil {
		t.notRecorded(why)
	}
}

// keepRecording makes a file of what was recorded, once the call is over.
func (l *live) keepRecording() {
	if l.recorder == nil {
		return
	}
	l.unrecord()
	state, err := l.recorder.close(l.s.base)
	if err != nil {
		l.log.Warn("a recording is not finished yet", slog.String("event", "recording.finish_waits"), slog.Any("error", err))
		return
	}
	ctx, cancel := context.WithTimeout(l.s.base, writeTime)
	defer cancel()
	if err := l.s.deps.Store.SetRecording(ctx, l.rec.ID, state); err != nil {
		l.log.Warn("the end of a recording is not stored yet", slog.String("event", "recording.end_waits"), slog.Any("error", err))
	}
}

// finishRecordings finishes what other nodes, or this one, left open.
func (s *Service) finishRecordings(ctx context.Context) {
	if s.deps.Archive == nil {
		return
	}
	now := time.Now()
	due := Due{Ended: now.Add(-recordingGrace * s.cfg.Lease), Lost: now.Add(-lostGrace * s.cfg.Lease)}
	list, err := s.deps.Store.ClaimRecordings(ctx, due, recordingAgain, maxListed)
	if err != nil {
		if ctx.Err() == nil {
			s.log.Warn("unfinished recordings could not be looked for", slog.String("event", "recording.sweep_failed"), slog.Any("error", err))
		}
		return
	}
	for _, r := range list {
		state, err := finishRecording(ctx, s.deps.Archive, Place{Owner: r.Owner, Path: r.Recording.Path}, r.Recording.Ref)
		if err != nil && now.Sub(r.EndedAt) > recordingGiveUp {
			state, err = RecordingFailed, nil
		}
		if err == nil {
			err = s.deps.Store.SetRecording(ctx, r.ID, state)
		}
		if err != nil {
			s.log.Warn("a recording is not finished yet", slog.String("event", "recording.finish_waits"), slog.String("call_id", r.ID), slog.Any("error", err))
			continue
		}
		s.log.Info("a recording was finished", slog.String("event", "recording.finished"), slog.String("call_id", r.ID), slog.String("state", string(state)))
	}
}
