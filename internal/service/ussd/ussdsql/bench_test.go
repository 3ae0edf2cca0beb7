package ussdsql_test

import (
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

// BenchmarkHandle measures a dial and one input without HTTP, 64 at a time.
func BenchmarkHandle(b *testing.B) {
	db := sqldbtest.Migrate(b, sqldbtest.SQLite(b), ussdsql.Migrations())
	svc := ussdtest.Service(b, ussdsql.New(db))
	if err := svc.Warm(b.Context()); err != nil {
		b.Fatal(err)
	}
	var n atomic.Int64
	b.SetParallelism(32)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			req := ussd.Request{SessionID: strconv.FormatInt(n.Add(1), 10), ServiceCode: "*2233#", Phone: "+260971230001"}
			for _, text := range []string{"", "1"} {
				req.Text = text
				if _, err := svc.Handle(b.Context(), req); err != nil {
					b.Error(err)
					return
				}
			}
		}
	})
}
