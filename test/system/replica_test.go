package system

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoreclient"
	"github.com/castalia-org/castalia/test/testenv"
)

// The machine dies and its data folder is gone. What the replica says that it holds is
// there again, from a folder and from a bucket.
func TestADeletedDataFolderIsRestoredFromItsReplica(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"folder", "bucket"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			env := []string{"REPLICA_URL=file://" + filepath.Join(t.TempDir(), "replica")}
			if kind == "bucket" {
				s3 := testenv.S3(t)
				env = []string{"REPLICA_URL=" + s3.URL(), "AWS_ACCESS_KEY_ID=" + s3.AccessKey, "AWS_SECRET_ACCESS_KEY=" + s3.SecretKey}
			}
			replicaIsRestored(t, strings.TrimPrefix(env[0], "REPLICA_URL="), env)
		})
	}
}

var signedBy = regexp.MustCompile(`did:key:z[0-9A-Za-z]+`)

var recipient = regexp.MustCompile(`age1[0-9a-z]{58}`)

// newBackupKey makes a key by the command line, as operators do.
func newBackupKey(t *testing.T) (file, to string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "backup.key")
	text, code := Run(t, nil, "key", "new", "--backup", "--out", file)
	if to = recipient.FindString(text); code != 0 || to == "" {
		t.Fatalf("key new: exit %d\n%s", code, text)
	}
	return file, to
}

// stored is a file that was acknowledged.
type stored struct {
	path string
	body []byte
}

func replicaIsRestored(t *testing.T, place string, env []string) {
	t.Helper()
	key, to := newBackupKey(t)
	w := Start(t, Embedded, append(env, "REPLICA_RECIPIENTS="+to)...)
	owner, err := did.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	client := func(n *Node) *filestoreclient.Client {
		c, err := filestoreclient.New(filestoreclient.Config{
			Server: n.URL, Signer: owner, HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	random := rand.New(rand.NewPCG(1, 2))
	var acknowledged []stored
	write := func() {
		t.Helper()
		for range 12 {
			body := make([]byte, 1+random.IntN(300<<10)) // some in the row, some as objects
			for i := range body {
				body[i] = byte(random.Uint32())
			}
			path := fmt.Sprintf("/file-%03d", len(acknowledged))
			_, err := client(w.Node(0)).Put(t.Context(), path, "text/plain", bytes.NewReader(body), int64(len(body)), cid.CID{})
			if err != nil {
				t.Fatal(err)
			}
			acknowledged = append(acknowledged, stored{path, body})
		}
	}
	alice := newChatter(t, w, identitytest.NewActor("replica"))
	alice.say(t, w.Node(0), "What are you?").rest(t)
	talk := alice.texts(t, w.Node(0))

	write()
	first := covered(t, w, time.Now())
	early := len(acknowledged)
	write()
	w.Node(0).Kill() // and on: the replica goes on where it was
	w.Node(0).Start()
	w.Node(0).WaitReady()
	write()
	covered(t, w, time.Now())
	sure := len(acknowledged)
	write()
	status, _ := Run(t, w.Env, "replica", "status")
	signer := signedBy.FindString(status)
	if signer == "" {
		t.Errorf("replica status does not say who signs:\n%s", status)
	}
	w.Node(0).Kill()
	if err := os.RemoveAll(w.Data); err != nil {
		t.Fatal(err)
	}

	// A new deployment would take the place of what can be had back.
	w.Node(0).Start()
	<-w.Node(0).Done()
	if code := w.Node(0).ExitCode(); code == 0 || !strings.Contains(w.Node(0).Log(), "castalia restore --from") {
		t.Errorf("a server without its folder: exit %d", code)
	}
	wrong, _ := newBackupKey(t)
	if text, code := Run(t, w.Env, "restore", "--identity", wrong, "--from", place); code == 0 || !strings.Contains(text, "not encrypted for this key") {
		t.Errorf("restore with another key: exit %d\n%s", code, text)
	}
	stranger, err := did.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	text, code := Run(t, w.Env, "restore", "--identity", key, "--from", place, "--signer", string(stranger.DID()))
	if code == 0 || !strings.Contains(text, "is signed by "+signer) {
		t.Errorf("restore of another's replica: exit %d\n%s", code, text)
	}
	if err := os.RemoveAll(w.Data); err != nil {
		t.Fatal(err)
	}
	text, code = Run(t, w.Env, "restore", "--identity", key, "--from", place, "--signer", signer)
	if code != 0 || !strings.Contains(text, "The replica is signed by "+signer) {
		t.Fatalf("restore: exit %d\n%s", code, text)
	}
	if text, code := Run(t, w.Env, "doctor", "--deep"); code != 0 {
		t.Errorf("doctor: exit %d\n%s", code, text)
	}
	w.Node(0).Start()
	w.Node(0).WaitReady()
	if got := present(t, client(w.Node(0)), acknowledged); got < sure {
		t.Errorf("%d files are there; %d were in the replica", got, sure)
	} else {
		t.Logf("%d of %d acknowledged files are there, %d had to be", got, len(acknowledged), sure)
	}
	if got := alice.texts(t, w.Node(0)); !slices.Equal(got, talk) {
		t.Errorf("the conversation is %q, was %q", got, talk)
	}
	// The restored one is copied too.
	sure = present(t, client(w.Node(0)), acknowledged)
	covered(t, w, time.Now())

	past := Prepare(t, Embedded, env...)
	if text, code := Run(t, past.Env, "restore", "--identity", key, "--from", place, "--at", first); code != 0 {
		t.Fatalf("restore to a moment: exit %d\n%s", code, text)
	}
	past.Env = append(past.Env, "REPLICA_URL=")
	past.Node(0).Start()
	past.Node(0).WaitReady()
	if got := present(t, client(past.Node(0)), acknowledged); got < early || got >= sure {
		t.Errorf("at %s there were %d files, not %d", first, early, got)
	}
}

// present counts the files that are there, which must be the first ones, and right.
func present(t *testing.T, c *filestoreclient.Client, all []stored) int {
	t.Helper()
	n, gap := 0, false
	for _, f := range all {
		var got bytes.Buffer
		_, err := c.Get(t.Context(), f.path, 0, &got)
		switch {
		case filestoreclient.IsStatus(err, http.StatusNotFound):
			gap = true
		case err != nil || !bytes.Equal(got.Bytes(), f.body):
			t.Errorf("%s: %v", f.path, err)
		case gap:
			t.Errorf("%s is there, and an earlier one is not", f.path)
		default:
			n++
		}
	}
	return n
}

var newestChange = regexp.MustCompile(`restorable +\S+ to (\S+)`)

// covered waits until the replica has everything up to a moment, and returns its
// newest one.
func covered(t *testing.T, w *World, until time.Time) string {
	t.Helper()
	newest := ""
	Eventually(t, "the replica has what was acknowledged", func() error {
		text, code := Run(t, w.Env, "replica", "status")
		found := newestChange.FindStringSubmatch(text)
		if code != 0 || found == nil {
			return fmt.Errorf("replica status: exit %d\n%s", code, text)
		}
		newest = found[1]
		at, err := time.Parse(time.RFC3339, newest)
		if err != nil || at.Before(until) {
			return fmt.Errorf("the newest change is of %s: %w", newest, err)
		}
		return nil
	})
	return newest
}
