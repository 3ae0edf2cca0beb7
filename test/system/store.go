package system

import (
	"path/filepath"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// Database opens the deployment's database, for what no surface shows. In the
// embedded shape stop the node first.
func (w *World) Database() *sqldb.DB {
	w.t.Helper()
	address := "sqlite:" + filepath.Join(w.Data, sqldb.FileName)
	for _, line := range w.Env {
		if value, ok := strings.CutPrefix(line, "DATABASE_URL="); ok {
			address = value
		}
	}
	db, err := sqldb.Open(w.t.Context(), address, sqldb.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = db.Close() })
	return db
}
