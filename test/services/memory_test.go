package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func TestTemporaryFoldersAreInMemoryWhereTheyCanBe(t *testing.T) {
	t.Setenv("TEST_POSTGRES_URL", "postgres://given")
	t.Setenv("TEST_S3_URL", "s3://given")
	t.Setenv("GOTMPDIR", "")
	disk := t.TempDir()
	t.Setenv("TMPDIR", disk)
	for _, flags := range [][]string{{"--"}, {"-memory", "--"}} {
		want := disk + " "
		if why := noMemory(memoryFolder); why == "" && len(flags) == 2 {
			want = memoryFolder + " " + disk // Go links its programs on the disk
		}
		out := t.TempDir() + "/out"
		var said bytes.Buffer
		if code := run(append(flags, "sh", "-c", `echo "$TMPDIR $GOTMPDIR" > `+out), &said); code != 0 {
			t.Fatalf("%q: exit code %d: %s", flags, code, said.String())
		}
		got, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want+"\n" {
			t.Errorf("%q: folders %q, want %q", flags, got, want)
		}
	}
}

func TestWhyTemporaryFoldersStayOnTheDisk(t *testing.T) {
	t.Parallel()
	if why := noMemory("/no/such/folder"); why == "" {
		t.Error("a folder that is not there would be used")
	}
	if why := noMemory("/proc"); !strings.Contains(why, "memory") && !strings.Contains(why, "/dev/shm") {
		t.Errorf("a folder that is not in memory: %q", why)
	}
}
