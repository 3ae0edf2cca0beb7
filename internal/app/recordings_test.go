package app

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
)

// Recordings of calls are files of the caller, written with what the caller
// delegated, and whole whenever they are finished.
func TestRecordingsUnderTheUsersDelegation(t *testing.T) {
	t.Parallel()
	id, alice := identitytest.New(t), identitytest.Alice
	world := filestoretest.Embedded(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	archive, err := oraclekit.Recordings(
		filestorehttp.Surface(world.Service,
			filestorehttp.Deps{Folders: world.Folders, Authenticate: identityhttp.Wrap(id, identity.Files)}),
		oraclekit.Access{Identity: id})
	must(err)
	writes := identitytest.Delegation(t, alice, id.DID(), identitytest.Can("fs/write", alice.Home("/recordings")))
	place := func(path, delegation string) call.Place {
		return call.Place{Owner: alice.DID, Brought: identity.Brought{Delegation: delegation}, Path: path}
	}

	for name, p := range map[string]call.Place{
		"nothing granted": place("/recordings/a.wav", ""),
		"only reading":    place("/recordings/a.wav", identitytest.Delegation(t, alice, id.DID(), identitytest.Can("fs/read", alice.Home("/")))),
		"another folder":  place("/recordings/a.wav", identitytest.Delegation(t, alice, id.DID(), identitytest.Can("fs/*", alice.Home("/notes")))),
		"somebody else's": {Owner: identitytest.Bob.DID, Brought: identity.Brought{Delegation: writes}, Path: "/recordings/a.wav"},
	} {
		if _, err := archive.Begin(t.Context(), p); !errors.Is(err, call.ErrNoGrant) {
			t.Errorf("%s: %v", name, err)
		}
	}

	p := place("/recordings/2026-11-15 22.14.05 abc.wav", writes)
	ref, err := archive.Begin(t.Context(), p)
	must(err)
	must(archive.Append(t.Context(), p, ref, 0, []byte("RIFF")))
	must(archive.Append(t.Context(), p, ref, 4, []byte("more")))
	must(archive.Append(t.Context(), p, ref, 4, []byte("more"))) // the answer was lost
	must(archive.Append(t.Context(), p, ref, 4, []byte("more and more")))
	if err := archive.Append(t.Context(), p, ref, 99, []byte("x")); !fault.Is(err, fault.Conflict) {
		t.Errorf("a gap: %v", err)
	}

	// Another node goes on, with what the user stored.
	_, err = id.StoreDelegation(t.Context(), identitytest.Principal(t, id, alice), identity.Deposit{Raw: writes})
	must(err)
	stored := place(p.Path, "")
	for range 2 {
		if kept, err := archive.Finish(t.Context(), stored, ref); err != nil || !kept {
			t.Fatalf("finish: %v %v", kept, err)
		}
	}
	f, content, err := world.OpenPath(t.Context(), filestore.Owner(alice.DID), p.Path)
	must(err)
	body, err := content.Range(0, content.Size())
	must(err)
	got, err := io.ReadAll(body)
	must(err)
	if !bytes.Equal(got, []byte("RIFFmore and more")) || f.MimeType != "audio/wav" {
		t.Errorf("%q, %s", got, f.MimeType)
	}
	if err := archive.Append(t.Context(), p, ref, f.Size, []byte("late")); err == nil {
		t.Error("a finished recording grew")
	}

	empty, err := archive.Begin(t.Context(), place("/recordings/empty.wav", writes))
	must(err)
	if kept, err := archive.Finish(t.Context(), stored, empty); err != nil || kept {
		t.Errorf("an empty recording: %v %v", kept, err)
	}
	if _, err := archive.Finish(t.Context(), stored, empty); !errors.Is(err, call.ErrRecordingGone) {
		t.Errorf("a recording that is gone: %v", err)
	}
}
