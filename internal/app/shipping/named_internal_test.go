package shipping

import (
	"path/filepath"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
)

func TestTheServicesSayWhatIsNamed(t *testing.T) {
	t.Parallel()
	db, err := sqldb.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), sqldb.FileName), sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for _, m := range []sqldb.Migrations{filestoresql.Migrations(), oraclesql.Migrations(), knowledgesql.Migrations()} {
		if err := db.Migrate(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range []string{"filestore_text_segments", "oracle_text_segments", "knowledge_segments"} {
		_, err := db.WriteOne(t.Context(), `INSERT INTO `+table+`
			(id, collection, wrapped_key, header, size, sealed, passages, dead_ms, created_ms)
			VALUES ('known', 'c', $1, $1, 1, 1, 1, 0, 0)`, []byte("x"))
		if err != nil {
			t.Fatal(err)
		}
	}
	asked := named(db)
	for key, want := range map[string]bool{
		"files/ab/abcd-0": false, "files-index/ab/abcd": false, "talks-index/ab/abcd": false,
		"knowledge/ab/abcd": false, "knowledge-vectors/ab/abcd": false,
		"files-index/kn/known": true, "talks-index/kn/known": true, "knowledge/kn/known": true,
		"unheard-of/ab/abcd": true, "abcd": true,
	} {
		if got, err := asked(t.Context(), key); err != nil || got != want {
			t.Errorf("%s: named %t, want %t: %v", key, got, want, err)
		}
	}
}
