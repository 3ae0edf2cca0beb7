package filestore_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// Whoever may write into a box and not read there does not read by a detour: neither by
// publishing what others put there, nor by moving it to where it may be read.
func TestWritingIsNotReading(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		const owner = "did:key:zOwner"
		f := w.MustPut(t, owner, "/box/secret.txt", "secret")
		w.MustPut(t, owner, "/mine/own.txt", "own")
		ns := f.Namespace
		blind := filestore.Access{Namespace: ns, Grants: []filestore.Grant{
			{Abilities: filestore.Write | filestore.Delete, Area: vfspath.Area{Root: "/box"}},
			{Abilities: filestore.All, Area: vfspath.Area{Root: "/mine"}},
		}}
		forbidden := func(what string, err error) {
			t.Helper()
			if !fault.Is(err, fault.Forbidden) && !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: %v", what, err)
			}
		}
		_, err := w.SetPublic(t.Context(), blind, filestore.Target{ID: f.ID}, true)
		forbidden("publish", err)
		if _, err = w.SetFolderPublic(t.Context(), blind, "/box", true); err != nil {
			forbidden("publish the folder", err)
		}
		_, err = w.Move(t.Context(), blind, filestore.Target{ID: f.ID}, "/mine/secret.txt", false)
		forbidden("move by id", err)
		_, err = w.Move(t.Context(), blind, filestore.Target{Path: "/box/secret.txt"}, "/mine/secret.txt", false)
		forbidden("move by path", err)
		if got, err := w.StatID(t.Context(), filestore.Owner(owner), f.ID); err != nil || got.Path != "/box/secret.txt" ||
			got.PublicID != "" {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := w.Move(t.Context(), blind, filestore.Target{ID: f.ID}, "/box/later.txt", false); err != nil {
			t.Errorf("inside the box: %v", err)
		}
		if _, err := w.Move(t.Context(), blind, filestore.Target{Path: "/mine/own.txt"}, "/box/own.txt", false); err != nil {
			t.Errorf("into the box: %v", err)
		}
	})
}
