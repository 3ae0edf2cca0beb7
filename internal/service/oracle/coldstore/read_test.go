package coldstore_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/blob/blobtest"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/retention"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/coldstore"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
)

// Whoever reads a whole conversation gets the same from the archive as from the tables,
// and leaves it where it is.
func TestTheArchiveIsReadAsItIs(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		s := oracletest.Branched(t, w.st)
		w.settle()
		oracletest.WantBranched(t, w.on, s, 4)
		w.freeze()
		oracletest.WantBranched(t, w.on, s, 4)
		if got := w.totals(); got.Conversations != 1 || len(w.rows(s.ID)) != 0 {
			t.Errorf("reading brought it back: %+v", got)
		}
		_, _, err := w.on.Whole(t.Context(), oracletest.Stranger, s.ID, oracle.Place{}, 9)
		if !errors.Is(err, oracle.ErrSessionNotFound) {
			t.Errorf("a stranger read the archive: %v", err)
		}
	})
}

// drop deletes the one object that there is.
func (w *world) drop() {
	w.t.Helper()
	for info, err := range w.blobs.List(w.t.Context(), coldstore.Prefix) {
		w.must(err)
		w.must(w.blobs.Delete(w.t.Context(), info.Key))
	}
}

// What is gone, or damaged, is lost; an archive that is away has lost nothing.
func TestWhatIsLostIsToldFromWhatIsAway(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		s := w.talk(1)
		w.freeze()
		damaged, away := blobtest.Healthy(), blobtest.Healthy()
		damaged.Flip, away.Err = 99, errDead
		for name, step := range map[string]struct {
			plan blobtest.Plan
			lost bool
		}{"damaged": {damaged, true}, "away": {away, false}} {
			w.blobs.Set(step.plan)
			_, _, err := w.on.Whole(t.Context(), oracletest.Owner, s.ID, oracle.Place{}, 9)
			if err == nil || errors.Is(err, oracle.ErrLost) != step.lost {
				t.Errorf("%s: %v", name, err)
			}
			if !step.lost && !fault.Is(err, fault.Unavailable) {
				t.Errorf("%s: %v", name, err)
			}
		}
		w.blobs.Set(away)
		if _, err := w.cold.Missing(t.Context(), s.ID); err == nil {
			t.Error("an archive that is away misses nothing")
		}
		w.blobs.Set(blobtest.Healthy())
		if is, err := w.cold.Missing(t.Context(), s.ID); err != nil || is {
			t.Errorf("what is there is missing: %t, %v", is, err)
		}
		w.drop()
		if _, _, err := w.on.Whole(t.Context(), oracletest.Owner, s.ID, oracle.Place{}, 9); !errors.Is(err, oracle.ErrLost) {
			t.Errorf("gone: %v", err)
		}
		if is, err := w.cold.Missing(t.Context(), s.ID); err != nil || !is {
			t.Errorf("what is gone is there: %t, %v", is, err)
		}
		if _, err := w.on.Messages(t.Context(), oracletest.Owner, s.ID, 0); !errors.Is(err, oracle.ErrLost) {
			t.Errorf("whoever opens it is told to come later: %v", err)
		}
	})
}

// An archive that has nothing of many is not the archive: what it lacks is not lost.
func TestAnEmptyArchiveHasLostNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		s := w.talk(1)
		w.talk(1)
		w.freeze()
		w.drop()
		_, _, err := w.on.Whole(t.Context(), oracletest.Owner, s.ID, oracle.Place{}, 9)
		if errors.Is(err, oracle.ErrLost) || !fault.Is(err, fault.Unavailable) {
			t.Errorf("exported: %v", err)
		}
		if is, err := w.cold.Missing(t.Context(), s.ID); is || err == nil {
			t.Errorf("it is missing: %t, %v", is, err)
		}
		more := w.talk(1)
		if n, err := w.tryFreeze(t.Context()); n != 0 || err == nil || w.objects() != 0 || w.rows(more.ID) == nil {
			t.Errorf("%d conversations were moved to a wrong place: %v", n, err)
		}
		_, err = w.blobs.Put(t.Context(), coldstore.Prefix+"gone-for-good", strings.NewReader(""), blob.PutOptions{})
		w.must(err)
		if n := w.freeze(); n != 1 {
			t.Errorf("%d conversations were moved to a place that was said to be right", n)
		}
	})
}

// An export before erasing says what is lost, and goes on; one that meets an archive that
// is away does not.
func TestAnExportNamesWhatIsLost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		s := w.talk(1)
		w.freeze()
		source := w.on.Retained()[retention.Transcripts][0]
		away := blobtest.Healthy()
		away.Err = errDead
		w.blobs.Set(away)
		var out bytes.Buffer
		if err := source.Export(t.Context(), later(), s.ID, retention.NewJSONLines(w.db.Read(), &out)); err == nil {
			t.Error("an archive that is away was exported")
		}
		w.blobs.Set(blobtest.Healthy())
		w.drop()
		out.Reset()
		w.must(source.Export(t.Context(), later(), s.ID, retention.NewJSONLines(w.db.Read(), &out)))
		for _, want := range []string{`"title":"Untitled"`, `"lost":"`} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the export lacks %s:\n%s", want, &out)
			}
		}
	})
}
