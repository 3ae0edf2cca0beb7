package main

import (
	"bytes"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/test/servers"
	"github.com/castalia-org/castalia/test/testenv"
)

func TestTheCommandGetsAServerAndItsCodeComesBack(t *testing.T) {
	testenv.Need(t, "sh")
	if _, err := servers.PostgresBin(); err != nil {
		testenv.Need(t, "initdb")
	}
	t.Setenv("TEST_POSTGRES_URL", "")
	t.Setenv("TEST_S3_URL", "s3://given")
	out := t.TempDir() + "/out"
	var said bytes.Buffer
	code := run([]string{"--", "sh", "-c", `echo "$TEST_POSTGRES_URL $TEST_S3_URL" > ` + out + `; exit 7`}, &said)
	if code != 7 {
		t.Errorf("exit code %d, want the command's 7: %s", code, said.String())
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	pg, s3, _ := strings.Cut(strings.TrimSpace(string(got)), " ")
	if !strings.HasPrefix(pg, "postgres://castalia@127.0.0.1:") {
		t.Errorf("TEST_POSTGRES_URL %q", pg)
	}
	if s3 != "s3://given" {
		t.Errorf("TEST_S3_URL %q: what is set already must stay", s3)
	}
}

func TestWhatMeasuresIsSynced(t *testing.T) {
	runtime.LockOSThread() // servers die with the thread that started them
	defer runtime.UnlockOSThread()
	if _, err := servers.PostgresBin(); err != nil {
		testenv.Need(t, "initdb")
	}
	for _, sync := range []bool{true, false} {
		dir, err := os.MkdirTemp("", "castalia-services-") // PostgreSQL's user cannot enter the test's own
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		up, env, err := startPostgres(t.Context(), dir, sync)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(up.stop)
		_, address, _ := strings.Cut(env[0], "=")
		db := sqldbtest.Open(t, address, sqldb.Options{})
		for _, name := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
			var got string
			if err := db.Read().QueryRowContext(t.Context(), "SHOW "+name).Scan(&got); err != nil {
				t.Fatal(err)
			}
			if (got == "on") != sync {
				t.Errorf("sync %v: %s is %s", sync, name, got)
			}
		}
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"--"}} {
		var said bytes.Buffer
		if code := run(args, &said); code != 2 || !strings.Contains(said.String(), "usage:") {
			t.Errorf("run(%q) = %d, %q", args, code, said.String())
		}
	}
}
