package filestorehttp_test

import (
	"crypto/rand"
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

// A delegation with a mirrored signature is the same delegation: the link that it
// is counts its readings, and ends.
func TestTheTwinOfALinkIsThatLink(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, world *filestoretest.World) {
		s, w := newSite(t, world), identitytest.NewWallet(t)
		home := identity.FileResource(string(w.DID()), "/")
		own := func() string {
			return w.Issue(ucan.Statement{
				Audience:     did.DID(identitytest.Oracle.DID),
				Capabilities: []ucan.Capability{ucan.NewCapability("*", home, ipld.Node{})},
				Expires:      time.Now().Add(time.Minute), Nonce: rand.Text(),
			}).Encode()
		}
		s.do(own(), "PUT", "/api/fs/content?path=/f", "content").want(201)
		holder := identitytest.NewActor("holder of a twin")
		reach := ucan.NewCapability("fs/read", home, ipld.Node{})
		statement := ucan.Statement{
			Audience: did.DID(holder.DID), Capabilities: []ucan.Capability{reach},
			Expires: time.Now().Add(time.Hour), Nonce: rand.Text(),
		}
		made := w.Issue(statement)
		w.Mirror = true
		twin := w.Issue(statement)
		w.Mirror = false
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
