package ipfsgateway_test

import (
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/appkey"
	"github.com/castalia-org/castalia/internal/identity/appkey/appkeyhttp"
	"github.com/castalia-org/castalia/internal/identity/appkey/appkeysql"
	"github.com/castalia-org/castalia/internal/identity/appkey/appkeytest"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/identity/identitysql"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// doors are who lets people in where both app keys and tokens are taken.
type doors struct {
	*site
	who  *identity.Service
	keys *appkey.Service
}

func newDoors(t *testing.T, w *filestoretest.World) *doors {
	t.Helper()
	sqldbtest.Migrate(t, w.DB, identitysql.Migrations())
	who := identitytest.New(t, func(d *identity.Deps, _ *identity.Config) { d.Now = w.Clock.Now })
	keys := appkeytest.New(t, appkeysql.New(w.DB), who, func(d *appkey.Deps) { d.Now = w.Clock.Now })
	face := appkeyhttp.Face{Keys: keys, Identity: who}
	return &doors{openSite(t, w, face.WrapKeys(appkey.Files, identityhttp.Wrap(who, identity.Files))), who, keys}
}

// by asks with a token or an app key.
func (d *doors) by(status int, bearer, target string) []byte {
	d.t.Helper()
	body, h := d.do(status, nil, http.MethodGet, target, "Authorization", "Bearer "+bearer, "X-Auth-Type", "ucan")
	if status == http.StatusOK && h.Get("Cache-Control") != "private, max-age=29030400, immutable" {
		d.t.Errorf("%s may be kept: %v", target, h)
	}
	return body
}

// An app key reads what its delegation reaches, and nothing when it is revoked or over.
func TestAppKeysReachTheirFolder(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		d := newDoors(t, w)
		alice := identitytest.Alice
		text := random(2*cid.LeafSize + 3)
		inside := w.MustPut(t, alice.DID, "/docs/in.bin", text)
		outside := w.MustPut(t, alice.DID, "/out.txt", "outside")
		hour := identitytest.Expires(w.Clock.Now().Add(time.Hour))
		revoked, first := appkeytest.Make(t, d.keys, alice, "first", identitytest.Can("fs/read", alice.Home("docs")), hour)
		_, second := appkeytest.Make(t, d.keys, alice, "second", identitytest.Can("fs/read", alice.Home("docs")), hour)
		_, oracle := appkeytest.Make(t, d.keys, alice, "oracle", hour)
		_, lister := appkeytest.Make(t, d.keys, alice, "lister", identitytest.Can("fs/list", alice.Home("docs")), hour)

		for _, key := range []string{first, second} {
			if got := d.by(200, key, "/ipfs/"+leaf(text, 1)+"?format=raw"); string(got) != text[cid.LeafSize:2*cid.LeafSize] {
				t.Error("a leaf is something else")
			}
			d.by(200, key, "/ipfs/"+inside.CID+"?format=car")
			d.by(404, key, "/ipfs/"+outside.CID+"?format=raw")
		}
		d.by(403, oracle, "/ipfs/"+inside.CID+"?format=raw")
		d.by(403, lister, "/ipfs/"+inside.CID+"?format=raw")
		if _, err := d.keys.Revoke(t.Context(), alice.DID, revoked.ID); err != nil {
			t.Fatal(err)
		}
		d.by(401, first, "/ipfs/"+leaf(text, 1)+"?format=raw")
		d.by(200, second, "/ipfs/"+leaf(text, 1)+"?format=raw")
		w.Clock.Add(2 * time.Hour)
		d.by(401, second, "/ipfs/"+leaf(text, 1)+"?format=raw")
		// A credential that does not count is not taken for none: it says so even for what is public.
		d.publish(outside)
		d.by(401, second, "/ipfs/"+outside.CID+"?format=raw")
		d.do(200, nil, http.MethodGet, "/ipfs/"+outside.CID+"?format=raw")
	})
}

// A token for CIDs reaches the blocks of these contents: root, leaves, and no others.
func TestTokensForCIDsReachTheirBlocks(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		d := newDoors(t, w)
		alice, bob := identitytest.Alice, identitytest.Bob
		text := random(2*cid.LeafSize + 4)
		granted := w.MustPut(t, alice.DID, "/granted.bin", text)
		other := w.MustPut(t, alice.DID, "/other.bin", random(cid.LeafSize+5))
		w.MustPut(t, alice.DID, "/leaf.bin", text[:cid.LeafSize]) // the same bytes as a leaf of it

		delegation := identitytest.Delegation(t, alice, bob.DID, identitytest.CIDs("fs/read", alice.Home(""), granted.CID),
			identitytest.Expires(w.Clock.Now().Add(time.Hour)))
		token := func() string {
			once := identitytest.Nonce(strconv.FormatInt(nonce.Add(1), 10))
			return identitytest.Files(t, bob, identitytest.Oracle.DID, "fs/read",
				identitytest.CIDs("fs/read", alice.Home(""), granted.CID), identitytest.Proof(delegation), once,
				identitytest.Expires(w.Clock.Now().Add(10*time.Minute)))
		}
		body := d.by(200, token(), "/ipfs/"+granted.CID+"?format=car")
		if got := blocksOf(t, body); !slices.Equal(got, []string{granted.CID, leaf(text, 0), leaf(text, 1), leaf(text, 2)}) {
			t.Errorf("%v", got)
		}
		d.by(200, token(), "/ipfs/"+leaf(text, 2)+"?format=raw")
		d.by(404, token(), "/ipfs/"+other.CID+"?format=raw")
		d.by(404, token(), "/ipfs/"+other.CID+"?format=car")

		expired := token()
		w.Clock.Add(20 * time.Minute)
		d.by(401, expired, "/ipfs/"+granted.CID+"?format=car")
		d.by(200, token(), "/ipfs/"+granted.CID+"?format=car")
		proof, err := ucan.Parse(delegation)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.who.RevokeByOperator(t.Context(), identity.RevokedToken, proof.CID()); err != nil {
			t.Fatal(err)
		}
		d.by(401, token(), "/ipfs/"+granted.CID+"?format=car")
	})
}
