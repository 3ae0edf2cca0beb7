package attachments_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/attachments"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
)

// Of one person two files are in memory at a time, from their first byte until they were
// read, however many messages name them; another's do not wait for them.
func TestFilesOfOneAreLoadedInTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var loaded, most, read atomic.Int64
		open := make(chan struct{})
		f := attachments.New(attachments.Config{
			Store: func(context.Context, string, identity.Brought, string, int64) ([]byte, error) {
				for n := loaded.Add(1); ; {
					if was := most.Load(); n <= was || most.CompareAndSwap(was, n) {
						break
					}
				}
				return []byte("PK\x03\x04 a packed document"), nil
			},
			Documents: func(_ context.Context, owner string, _ []byte, _ int) (string, error) {
				if owner == "ada" {
					<-open
				}
				loaded.Add(-1)
				read.Add(1)
				return "text", nil
			},
			Timeout: time.Hour,
		})
		fetch := func(owner string) {
			got, _ := f.Fetch(t.Context(), turn.AttachmentQuery{
				Owner: owner, Attachments: []oracle.Attachment{{Filename: "a.zip", CID: "a"}, {Filename: "b.zip", CID: "b"}},
			})
			for _, a := range got {
				if a.Text != "text" || a.Note != "" {
					t.Errorf("%s: %q %q", owner, a.Text, a.Note)
				}
			}
		}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { fetch("ada") })
		}
		synctest.Wait()
		if n := loaded.Load(); n != 2 {
			t.Errorf("%d files are in memory", n)
		}
		fetch("eve")
		close(open)
		all.Wait()
		if most.Load() > 3 || read.Load() != 18 {
			t.Errorf("%d files were in memory, %d were read", most.Load(), read.Load())
		}
	})
}
