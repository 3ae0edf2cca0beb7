package stores_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/app/stores"
	"github.com/castalia-org/castalia/internal/platform/config"
)

// A folder may hold the exports of one server and the replica of another: who starts must
// not take away what the other is writing.
func TestAFolderThatIsSharedIsNotCleared(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "shared")
	var at config.URL
	if err := at.UnmarshalText([]byte("file://" + dir)); err != nil {
		t.Fatal(err)
	}
	s := &config.Settings{}
	s.Storage.Data = t.TempDir()
	if _, err := stores.Place("REPLICA_URL", at, s, true); err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(dir, ".tmp")
	if err := os.MkdirAll(half, 0o700); err != nil {
		t.Fatal(err)
	}
	young, old := filepath.Join(half, "put-young"), filepath.Join(half, "put-old")
	for _, name := range []string{young, old} {
		if err := os.WriteFile(name, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-72 * time.Hour)
	if err := os.Chtimes(old, long, long); err != nil {
		t.Fatal(err)
	}
	if _, err := stores.Place("RETENTION_EXPORT_URL", at, s, true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("what another is writing: %v", err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("what was left long ago is still there")
	}
}
