package filestorehttp_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// wallet signs with P-256. Somebody who has what it signed can write the same
// statement with the mirrored signature.
type wallet struct {
	t       *testing.T
	private *ecdsa.PrivateKey
	key     did.Key
	seen    map[string][]byte
	mirror  bool
}

func newWallet(t *testing.T) *wallet {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, err := private.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	key, err := did.KeyFromTagged("\x80\x24" + string(append([]byte{2 + public[64]&1}, public[1:33]...)))
	if err != nil {
		t.Fatal(err)
	}
	return &wallet{t: t, private: private, key: key, seen: map[string][]byte{}}
}

func (w *wallet) DID() did.DID             { return w.key.DID() }
func (w *wallet) Algorithm() did.Algorithm { return did.ES256 }

func (w *wallet) Sign(message []byte) []byte {
	sig := w.seen[string(message)]
	if sig == nil {
		sum := sha256.Sum256(message)
		r, s, err := ecdsa.Sign(rand.Reader, w.private, sum[:])
		if err != nil {
			w.t.Fatal(err)
		}
		sig = make([]byte, 64)
		r.FillBytes(sig[:32])
		s.FillBytes(sig[32:])
		w.seen[string(message)] = sig
	}
	if w.mirror {
		return did.Mirror(did.ES256, sig)
	}
	return sig
}

func (w *wallet) issue(s ucan.Statement) *ucan.Token {
	w.t.Helper()
	token, err := ucan.Issue(w, s)
	if err != nil {
		w.t.Fatal(err)
	}
	return token
}

// A delegation with a mirrored signature is the same delegation: the link that it
// is counts its readings, and ends.
func TestTheTwinOfALinkIsThatLink(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, world *filestoretest.World) {
		s, w := newSite(t, world), newWallet(t)
		home := identity.FileResource(string(w.DID()), "/")
		own := func() string {
			return w.issue(ucan.Statement{
				Audience: did.DID(identitytest.Oracle.DID), Capabilities: []ucan.Capability{ucan.NewCapability("*", home, ipld.Node{})},
				Expires: time.Now().Add(time.Minute), Nonce: rand.Text(),
			}).Encode()
		}
		s.do(own(), "PUT", "/api/fs/content?path=/f", "content").want(201)
		holder := identitytest.NewActor("holder of a twin")
		reach := ucan.NewCapability("fs/read", home, ipld.Node{})
		statement := ucan.Statement{Audience: did.DID(holder.DID), Capabilities: []ucan.Capability{reach}, Expires: time.Now().Add(time.Hour), Nonce: rand.Text()}
		made := w.issue(statement)
		w.mirror = true
		twin := w.issue(statement)
		w.mirror = false
		if made.CID() == twin.CID() {
			t.Fatal("the twin has the same CID")
		}
		register := func(token *ucan.Token) answer {
			body, err := json.Marshal(filestorehttp.ShareBody{Delegation: token.Encode(), Path: "/f", MaxUses: 2})
			if err != nil {
				t.Fatal(err)
			}
			return s.do(own(), "POST", "/api/fs/shares", string(body))
		}
		register(made).want(201)
		register(twin).want(409)
		read := func(proof *ucan.Token) answer {
			token := identitytest.Files(t, holder, identitytest.Oracle.DID, "fs/read",
				identitytest.Can("fs/read", home), identitytest.Proof(proof.Encode()), identitytest.Nonce(rand.Text()))
			return s.do(token, "GET", "/api/fs/content?path=/f", "")
		}
		read(twin).want(200)
		read(made).want(200)
		for _, proof := range []*ucan.Token{made, twin} {
			if a := read(proof).want(403); !strings.Contains(a.body, "link_over") {
				t.Error(a.body)
			}
		}
	})
}
