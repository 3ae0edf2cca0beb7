package keyring_test

import (
	"bytes"
	"testing"

	"github.com/castalia-org/castalia/internal/app/keyring"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

func key(b byte) config.Key { return bytes.Repeat([]byte{b}, 32) }

// node is the settings of one with a key for files, and others that it still reads.
func node(current config.Key, old ...config.Key) *config.Settings {
	s := &config.Settings{}
	s.Identity.OracleKey, s.USSD.PINKey = key(1), key(2)
	s.Files.MasterKey, s.Files.MasterKeysOld = current, old
	return s
}

// TestEveryNodeSealsUnderTheKeyThatANodeLastBeganWith changes a key node by node.
func TestEveryNodeSealsUnderTheKeyThatANodeLastBeganWith(t *testing.T) {
	t.Parallel()
	db, err := sqldb.Open(t.Context(), "sqlite:"+t.TempDir()+"/db", sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.WriteOne(t.Context(), `CREATE TABLE app_keys (name TEXT PRIMARY KEY, check_value TEXT NOT NULL)`); err != nil {
		t.Fatal(err)
	}
	former, fresh := key(3), key(4)
	begin := func(s *config.Settings) {
		t.Helper()
		if err := keyring.Check(t.Context(), db, s); err != nil {
			t.Fatal(err)
		}
	}
	seals := func(s *config.Settings) (config.Key, error) {
		t.Helper()
		files, err := keyring.FilesOf(db, s)
		if err != nil {
			t.Fatal(err)
		}
		k, err := files.InForce(t.Context())
		return k[:], err
	}
	begin(node(former))
	if k, err := seals(node(former)); err != nil || !bytes.Equal(k, former) {
		t.Errorf("before: %x, %v", k, err)
	}
	reads := node(former, fresh)
	begin(reads)
	begin(node(fresh, former)) // the first node that has the new key first
	if k, err := seals(reads); err != nil || !bytes.Equal(k, fresh) {
		t.Errorf("a node that only reads the new key seals under %x, %v", k, err)
	}
	if _, err := seals(node(former)); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a node that does not know it: %v", err)
	}
}
