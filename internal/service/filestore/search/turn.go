package search

import (
	"context"

	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/service/filestore"
)

// What an answer may have: of a grep besides its last file, of others with the longest paths.
const (
	grepAnswer   = 2 << 20
	globAnswer   = 2 << 20
	searchAnswer = 1 << 20
	// fileAnswer is what is said of a file besides its path, fileWorst that with all that a
	// grep shows of one.
	fileAnswer = 1 << 10
	fileWorst  = 256 << 10
)

// begin waits until the caller's namespace has a place for one more search, so that
// somebody who asks for many has one core's time and not the node's, and for room for the
// answer.
func begin(ctx context.Context, answer int64) (done func(), err error) {
	hold := ratelimit.HoldingOf(ctx)
	if done, err = hold.Work(ctx); err != nil {
		return nil, err
	}
	if err := hold.Take(ctx, answer); err != nil {
		done()
		return nil, err
	}
	return done, nil
}

// keep is called when it is known what was found.
func keep(ctx context.Context, found int64) { ratelimit.HoldingOf(ctx).Keep(found) }

func weighFiles(files []filestore.File) (n int64) {
	for _, f := range files {
		n += int64(len(f.Path)) + fileAnswer
	}
	return n
}
