package ussdlist

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// Source has the documents that everybody may read.
type Source interface {
	// Table reads the table of a list's document, with a word that is another one when
	// the document changes; nil when known is still that word. A document that is not
	// there, or not for everybody, is NotFound. One that cannot be read however often it is
	// tried has a word beside its error.
	Table(ctx context.Context, l List, known string) (t *Table, version string, err error)
}

// Documents are the lists that are documents. It is safe for concurrent use.
type Documents struct {
	source Source
	now    func() time.Time
	log    *slog.Logger

	flights singleflight.Group
	mu      sync.Mutex
	kept    map[place]*kept
}

// place is which table a list reads.
type place struct{ collection, document, sheet string }

// kept is the last good table of a document, or why there is none. The version is that
// which was read last, good or not.
type kept struct {
	table   *Table
	err     error
	version string
	looked  time.Time
}

// NewDocuments returns the lists of a source. now is the clock.
func NewDocuments(source Source, now func() time.Time, log *slog.Logger) *Documents {
	return &Documents{source: source, now: now, log: log, kept: map[place]*kept{}}
}

const (
	// documentEvery is how often it is looked whether a document changed.
	documentEvery = 2 * time.Second
	// documentWait is how long a caller waits for that, documentLimit how long it takes at most.
	documentWait  = 2 * time.Second
	documentLimit = time.Minute
)

// Table returns the rows of a list that is a document. A caller waits a moment for newer
// ones, and is shown the last good ones then.
func (d *Documents) Table(ctx context.Context, l List) (*Table, error) {
	at := place{l.Collection, l.Document, l.Sheet}
	known, fresh := d.known(at)
	if fresh {
		return known.table, known.err
	}
	flight := d.flights.DoChan(at.collection+"\x00"+at.document+"\x00"+at.sheet, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), documentLimit)
		defer cancel()
		return d.look(ctx, l, at)
	})
	wait := time.NewTimer(documentWait)
	defer wait.Stop()
	select {
	case r := <-flight:
		t, _ := r.Val.(*Table)
		return t, r.Err
	case <-wait.C:
	case <-ctx.Done():
	}
	if known.table == nil {
		return nil, fault.New(fault.Unavailable, "the document is not read yet")
	}
	return known.table, nil
}

// known returns what is kept of a document, and whether that is new enough.
func (d *Documents) known(at place) (kept, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.kept[at]
	if k == nil {
		return kept{}, false
	}
	now := d.now()
	return *k, now.Sub(k.looked) < documentEvery && !now.Before(k.looked)
}

// look asks the source. What it cannot read leaves the last good table; what is not
// there, or not for everybody, takes it away.
func (d *Documents) look(ctx context.Context, l List, at place) (*Table, error) {
	known, _ := d.known(at)
	began := d.now()
	t, version, err := d.source.Table(ctx, l, known.version)
	d.mu.Lock()
	defer d.mu.Unlock()
	now := &kept{table: t, version: version, looked: began}
	switch {
	case fault.Is(err, fault.NotFound):
		now = &kept{err: err, looked: began}
	case err != nil:
		now.table, now.version = known.table, cmp.Or(version, known.version)
		if now.table == nil {
			now.err = err
			break
		}
		d.log.LogAttrs(ctx, slog.LevelWarn, "a list was not read anew for telephones", slog.String("event", "ussd.list_stale"), slog.Any("error", err))
	case t == nil:
		now.table, now.err = known.table, known.err
	}
	d.kept[at] = now // places are those of menus: there are few
	return now.table, now.err
}

// Lists are both kinds. One that is nil finds nothing.
type Lists struct {
	Folder    *Folder
	Documents *Documents
}

// Table reads a list where it is.
func (s Lists) Table(ctx context.Context, l List) (*Table, error) {
	switch {
	case l.Document != "" && s.Documents != nil:
		return s.Documents.Table(ctx, l)
	case l.Document != "":
		return nil, fault.New(fault.Unavailable, "this node has no documents")
	case s.Folder != nil:
		return s.Folder.Table(ctx, l)
	}
	return nil, fault.New(fault.Unavailable, "USSD_LISTS is not set")
}
