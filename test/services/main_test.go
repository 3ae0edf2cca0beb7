package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

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

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"--"}} {
		var said bytes.Buffer
		if code := run(args, &said); code != 2 || !strings.Contains(said.String(), "usage:") {
			t.Errorf("run(%q) = %d, %q", args, code, said.String())
		}
	}
}
