package talksearch_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob/blobmem"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
)

// BenchmarkSearch looks for words in conversations of ten messages, each of about 300
// bytes: in the index, and before there is one.
func BenchmarkSearch(b *testing.B) {
	for _, messages := range []int{10, 1000, 10_000} {
		for _, indexed := range []bool{false, true} {
			db := oracletest.Migrated(b, sqldbtest.SQLite(b))
			w := &world{db: db, st: oraclesql.New(db), blobs: blobmem.New(), now: time.Now().Add(time.Hour)}
			w.fill(b, messages/10, 10)
			s := w.node(w.st, 1)
			for more := indexed; more; {
				var err error
				if more, err = s.IndexOnce(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			for _, word := range []string{"heron", "water", "zebra", "word31 water"} {
				b.Run(fmt.Sprintf("messages=%d/indexed=%t/%s", messages, indexed, word), func(b *testing.B) {
					for b.Loop() {
						if _, err := s.Search(b.Context(), oracletest.Owner, word, 30, 0); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
