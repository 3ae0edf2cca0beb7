package system

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoreclient"
	"github.com/castalia-org/castalia/test/testenv"
)

// holders are people with one file each, under a key of their own.
type holders struct {
	mu  sync.Mutex
	all []did.Signer
}

func (h *holders) client(n *Node, who did.Signer) (*filestoreclient.Client, error) {
	return filestoreclient.New(filestoreclient.Config{
		Server: n.URL, Signer: who, HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	})
}

// add has somebody new store a file, which wraps a new key.
func (h *holders) add(ctx context.Context, n *Node) error {
	who, err := did.NewSigner()
	if err != nil {
		return err
	}
	c, err := h.client(n, who)
	if err != nil {
		return err
	}
	text := string(who.DID())
	if _, err := c.Put(ctx, "/f", "text/plain", strings.NewReader(text), int64(len(text)), cid.CID{}); err != nil {
		return fmt.Errorf("store at %s: %w", n.URL, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, who)
	return nil
}

// read reads the file of one of them.
func (h *holders) read(ctx context.Context, n *Node, i int) error {
	h.mu.Lock()
	who := h.all[i%len(h.all)]
	h.mu.Unlock()
	c, err := h.client(n, who)
	if err != nil {
		return err
	}
	var got bytes.Buffer
	if _, err := c.Get(ctx, "/f", 0, &got); err != nil || got.String() != string(who.DID()) {
		return fmt.Errorf("read at %s: %q %w", n.URL, got.String(), err)
	}
	return nil
}

// The key of files is changed while a fleet serves, as the guide says, and whoever changes
// it dies in the middle: every request is answered, nothing is lost, and the doctor says at
// each step what is under which key.
func TestTheKeyOfFilesIsChangedWhileAFleetServes(t *testing.T) {
	testenv.Need(t, "long")
	t.Parallel()
	w := Start(t, Fleet)
	before, after := Key(3), Key(9)
	people := &holders{}
	for i := range 24 {
		if err := people.add(t.Context(), w.Node(i)); err != nil {
			t.Fatal(err)
		}
	}
	fleet := w.Env
	nodeByNode := func(settings ...string) {
		t.Helper()
		w.Env = append(slices.Clip(fleet), settings...)
		for _, n := range w.Nodes {
			n.Stop()
			n.Start()
			n.WaitReady()
		}
	}
	doctor := func(want string) {
		t.Helper()
		if text, code := Run(t, w.Env, "doctor"); code != 0 || !strings.Contains(text, want) {
			t.Errorf("doctor: exit %d, want %q\n%s", code, want, text)
		}
	}
	db := w.Database()
	var former string
	row := db.Read().QueryRowContext(t.Context(), `SELECT DISTINCT master_id FROM filestore_namespaces`)
	if err := row.Scan(&former); err != nil {
		t.Fatal(err)
	}
	nodeByNode("FILES_MASTER_KEY="+before, "FILES_MASTER_KEYS_OLD="+after)
	nodeByNode("FILES_MASTER_KEY="+after, "FILES_MASTER_KEYS_OLD="+before)
	doctor("files are under an earlier key")

	// From here on the nodes run on, and are asked.
	ctx, stop := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	for i := range 3 {
		asking.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				err := people.read(context.WithoutCancel(ctx), w.Node(n), n)
				if err == nil && n%4 == 0 {
					err = people.add(context.WithoutCancel(ctx), w.Node(n))
				}
				if err != nil {
					t.Errorf("while the key is changed: %v", err)
					return
				}
			}
		})
	}
	killInTheMiddle(t, w, db, former)
	doctor("files are under an earlier key")
	if text, code := Run(t, w.Env, "rotate-keys"); code != 0 || !strings.Contains(text, "FILES_MASTER_KEYS_OLD may be dropped") {
		t.Errorf("rotate-keys: exit %d\n%s", code, text)
	}
	doctor("everything is under the newest keys")
	stop()
	asking.Wait()

	nodeByNode("FILES_MASTER_KEY=" + after)
	doctor("everything is under the newest keys")
	for i := range people.all {
		if err := people.read(t.Context(), w.Node(i), i); err != nil {
			t.Errorf("of %d people: %v", len(people.all), err)
		}
	}
	for _, n := range w.Nodes {
		if strings.Contains(n.Log(), `"status":500`) {
			t.Errorf("%s answered 500", n.URL)
		}
	}
}

// killInTheMiddle starts a change of keys, holds it at the last namespace that is under the
// former one, and kills it there.
func killInTheMiddle(t *testing.T, w *World, db *sqldb.DB, former string) {
	t.Helper()
	left := func() (n int) {
		row := db.Read().QueryRowContext(t.Context(), `SELECT count(*) FROM filestore_namespaces WHERE master_id = $1`, former)
		if err := row.Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	all := left()
	held := errors.New("held long enough")
	err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
		var last string
		if err := tx.QueryRowContext(ctx, `SELECT ns FROM filestore_namespaces WHERE master_id = $1
			ORDER BY ns DESC LIMIT 1 FOR UPDATE`, former).Scan(&last); err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, Binary(t), "rotate-keys")
		cmd.Dir = t.TempDir()
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir}, w.Env...)
		if err := cmd.Start(); err != nil {
			return err
		}
		Eventually(t, "some keys are changed, and not all", func() error {
			if n := left(); n == all {
				return fmt.Errorf("all %d namespaces are under the former key", n)
			}
			return nil
		})
		_ = cmd.Process.Kill()
		if err := cmd.Wait(); err == nil {
			return errors.New("it ended before it was killed")
		}
		return held
	})
	if !errors.Is(err, held) || left() == 0 {
		t.Errorf("%v; %d namespaces are under the former key", err, left())
	}
}
