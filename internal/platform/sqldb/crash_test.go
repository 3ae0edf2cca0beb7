package sqldb_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/test/testenv"
)

// crashVariable makes this test binary the process that is killed.
const crashVariable = "CASTALIA_TEST_WRITE_UNTIL_KILLED"

func TestMain(m *testing.M) {
	if path := os.Getenv(crashVariable); path != "" {
		writeUntilKilled(path)
		return
	}
	goleak.VerifyTestMain(m)
}

// writeUntilKilled writes pairs of rows and prints the name of each pair once
// it is acknowledged.
func writeUntilKilled(path string) {
	db, err := sqldb.Open(context.Background(), "sqlite:"+path, sqldb.Options{})
	if err != nil {
		fmt.Println("open:", err)
		return
	}
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for i := 0; ; i++ {
				name := fmt.Sprintf("%d-%d-%d", os.Getpid(), w, i)
				err := db.Write(context.Background(), func(ctx context.Context, tx sqldb.Querier) error {
					if err := insert(name+"-left")(ctx, tx); err != nil {
						return err
					}
					return insert(name+"-right")(ctx, tx)
				})
				if err != nil {
					fmt.Println("write:", err)
					return
				}
				_, _ = os.Stdout.WriteString(name + "\n")
			}
		})
	}
	wg.Wait()
}

func TestWhatWasAcknowledgedSurvivesAKill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "castalia.db")
	made := things(t, func(t *testing.T) *sqldb.DB { return sqldbtest.Open(t, "sqlite:"+path, sqldb.Options{}) })
	if err := made.Close(); err != nil {
		t.Fatal(err)
	}
	var acknowledged []string
	for _, enough := range []int{1, 40, 333} {
		acknowledged = append(acknowledged, testenv.Killed(t, crashVariable, path, enough)...)
	}
	db := sqldbtest.Open(t, "sqlite:"+path, sqldb.Options{})
	if problems, err := db.Check(t.Context(), true); err != nil || problems != nil {
		t.Errorf("check: %q, %v", problems, err)
	}
	for _, name := range acknowledged {
		var n int
		err := db.Read().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM demo_things WHERE id IN ($1, $2)`,
			name+"-left", name+"-right").Scan(&n)
		if err != nil || n != 2 {
			t.Errorf("%s was acknowledged and has %d of 2 rows (%v)", name, n, err)
		}
	}
	if n := count(t, db); n%2 != 0 || n < 2*len(acknowledged) {
		t.Errorf("%d rows for %d acknowledged pairs", n, len(acknowledged))
	}
}
