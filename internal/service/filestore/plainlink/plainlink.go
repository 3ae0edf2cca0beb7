// Package plainlink makes links that any browser and any program can open: the
// address itself is the secret.
//
// It promises that such a link reaches one file or folder, either for reading alone or
// for sending files to it alone, that it is counted, listed and ended like every other
// link, and that the store keeps a hash of the secret, not the secret. Whoever sends
// files learns nothing of what is there, and replaces nothing. It refuses to make one
// for anybody but the owner of the namespace: a delegate's authority can be taken back,
// and nothing would tell the address. A link ends with its owner's membership. To make
// one is to publish: as for that, a token that only reads does not do.
//
// Decision: ADR 0216.
package plainlink

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filename"
)

// secretBytes is how long a secret is before it is written in base32, where it has
// 32 characters.
const secretBytes = 20

// What a link is for is the prefix of its token, which is the hash of a secret. No CID
// begins like that.
const (
	forReading = "plain:"
	forUploads = "drop:"
)

// alphabet is that of base32, in lower case: addresses are read aloud and retyped.
var alphabet = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Service makes and opens plain links.
type Service struct {
	files *filestore.Service
	store filestore.Shares
	admit func(ctx context.Context, did string) error
}

// New returns a Service. admit says whether the owner of a link may come in; a refusal
// that is Forbidden ends the link for as long. Nil is for a Service that opens none.
func New(files *filestore.Service, admit func(ctx context.Context, did string) error) *Service {
	return &Service{files, files.Records(), admit}
}

// Wanted says what a link is to be.
type Wanted struct {
	Path    string
	Expires time.Time // zero: never
	MaxUses int64     // 0: unlimited
}

// Link is a link that was opened: whoever has its secret reads with Access.
type Link struct {
	filestore.Share
	Access filestore.Access
}

// Make makes a link for reading. The secret is told this once.
func (s *Service) Make(ctx context.Context, a filestore.Access,
	w Wanted,
) (secret string, made filestore.Share, err error) {
	if err := s.allowed(a, w.Expires); err != nil {
		return "", filestore.Share{}, err
	}
	if _, err := publishable(a, w.Path); err != nil {
		return "", filestore.Share{}, err
	}
	secret = newSecret()
	made, err = s.files.Share(ctx, a, filestore.NewShare{
		TokenCID: tokenOf(forReading, secret), Path: w.Path, Expires: w.Expires, MaxUses: w.MaxUses,
	})
	if err != nil {
		return "", filestore.Share{}, err
	}
	return secret, made, nil
}

// allowed fails unless the caller may make a link that ends then.
func (s *Service) allowed(a filestore.Access, expires time.Time) error {
	if len(a.Chain) > 0 || a.Invoker != a.Actor {
		return fault.New(fault.Forbidden, "only the owner makes plain links: share a delegation instead").WithCode("owner_only")
	}
	if !expires.IsZero() && !expires.After(s.files.Now()) {
		return fault.New(fault.Invalid, "expiresAt must lie ahead")
	}
	return nil
}

// publishable returns a place, cleaned, when the token may change what is there.
func publishable(a filestore.Access, said string) (string, error) {
	scope, err := a.Scope(filestore.Write)
	if err != nil {
		return "", err
	}
	at, err := filename.CleanFolder(said)
	if err != nil {
		return "", err
	}
	return at, scope.Writable(at)
}

func newSecret() string {
	raw := make([]byte, secretBytes)
	_, _ = rand.Read(raw) // never fails
	return alphabet.EncodeToString(raw)
}

// tokenOf is how the store knows a secret.
func tokenOf(purpose, secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return purpose + hex.EncodeToString(sum[:])
}

// IsPlain reports whether a link is a plain one.
func IsPlain(sh filestore.Share) bool {
	return strings.HasPrefix(sh.TokenCID, forReading) || TakesUploads(sh)
}

// TakesUploads reports whether files are sent by a link, and nothing is read.
func TakesUploads(sh filestore.Share) bool { return strings.HasPrefix(sh.TokenCID, forUploads) }

// OverError says why a link is over: "ended", "used up" or "expired". It stands behind the
// refusal of Open, for pages that say it in the reader's language.
type OverError struct{ State string }

// Error implements error.
func (e *OverError) Error() string { return e.State }

// Open finds the link of a secret. One that is over is Gone, whoever ended it.
func (s *Service) Open(ctx context.Context, secret string) (Link, error) {
	raw, err := alphabet.DecodeString(secret)
	if err != nil || len(raw) != secretBytes {
		return Link{}, noLink()
	}
	found, err := s.store.SharesOf(ctx, []string{tokenOf(forReading, secret), tokenOf(forUploads, secret)})
	if err != nil {
		return Link{}, err
	}
	if len(found) != 1 {
		return Link{}, noLink()
	}
	sh := found[0]
	if state := sh.State(s.files.Now()); state != "open" {
		return Link{}, fault.Wrap(fault.Gone, "the link is over: it is "+state, &OverError{state}).WithCode("link_over")
	}
	switch err := s.admit(ctx, sh.By.Actor); {
	case fault.Is(err, fault.Forbidden):
		return Link{}, fault.Wrap(fault.Gone, "the link is over", err).WithCode("link_over")
	case err != nil:
		return Link{}, err
	}
	root := vfspath.Root(sh.Path)
	area := vfspath.Area{Root: root}
	if vfspath.IsHidden(sh.Path) {
		area.Reveal = []vfspath.Root{root} // the owner named it
	}
	abilities := filestore.List | filestore.Read
	if TakesUploads(sh) {
		abilities = filestore.Write
	}
	return Link{sh, filestore.Access{
		Namespace: sh.Namespace, Invoker: "link:" + sh.ID, Actor: sh.By.Actor, Proof: sh.TokenCID,
		Chain:  []string{sh.TokenCID},
		Grants: []filestore.Grant{{Abilities: abilities, Area: area}},
	}}, nil
}

func noLink() error { return fault.New(fault.NotFound, "no such link") }
