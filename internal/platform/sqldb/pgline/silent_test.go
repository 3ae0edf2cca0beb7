package pgline_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sqldb/pgline"
)

// mute is a server that lets everybody wait until the driver gives up.
type mute struct {
	asked atomic.Int64
	free  chan struct{}
}

func (m *mute) Connect(context.Context) (driver.Conn, error) {
	m.asked.Add(1)
	<-m.free
	return nil, context.DeadlineExceeded
}

func (m *mute) Driver() driver.Driver { return nil }

// pooled opens connections by a pool.
type pooled struct {
	to   driver.Connector
	pool *pgline.Pool
}

func (p pooled) Connect(ctx context.Context) (driver.Conn, error) {
	return p.pool.Connect(ctx, p.to, func(error) bool { return false })
}

func (p pooled) Driver() driver.Driver { return nil }

// TestASilentServerIsNotAskedOncePerWaiter has more who wait than the pool has places: those are
// served by one connection after the other.
func TestASilentServerIsNotAskedOncePerWaiter(t *testing.T) {
	t.Parallel()
	const places, waiters = 4, 64
	server := &mute{free: make(chan struct{})}
	pool := &pgline.Pool{Hasty: true}
	pool.DB = sql.OpenDB(pooled{to: server, pool: pool})
	t.Cleanup(func() { _ = pool.DB.Close() })
	pool.Limit(places)
	var all sync.WaitGroup
	for range waiters {
		all.Go(func() {
			if err := pool.DB.PingContext(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
		})
	}
	for pool.DB.Stats().WaitCount < waiters-places { // all others wait for a place
		if t.Context().Err() != nil {
			return
		}
	}
	close(server.free)
	all.Wait()
	if asked := server.asked.Load(); asked > places {
		t.Errorf("the server was asked %d times", asked)
	}
}
