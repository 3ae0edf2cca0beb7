package identityhttp

import (
	"net/http"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
)

// maxChecked bounds one question about revocations.
const maxChecked = 32

// Revoke is the body of POST /api/revocations.
type Revoke struct {
	// Revocation is a base64 ucan/revoke invocation that carries the revoked token.
	Revocation string `json:"revocation"`
}

// Revoked is its reply.
type Revoked struct {
	Kind   string `json:"kind"`
	Target string `json:"target"`
	By     string `json:"by"`
}

// Check is the body of POST /api/revocations/check.
type Check struct {
	CIDs []string `json:"cids"`
}

// Checked is its reply: those that were revoked.
type Checked struct {
	Revoked []string `json:"revoked"`
}

// Surface offers what anybody may ask of identity: the service's DID document,
// and revocations, which prove themselves by their signature. all counts new
// revocations of all callers together, but for the operator's: they bound what
// strangers make us remember. nil counts nothing.
func Surface(s *identity.Service, cors httpserver.CORSPolicy, all *ratelimit.Limiter) httpserver.Surface {
	tags := []string{"Identity"}
	return httpserver.Surface{
		Name: "identity",
		Doc:  "Who this service is, and which tokens were withdrawn.",
		CORS: cors,
		Routes: []httpserver.Route{
			{
				Method: http.MethodGet, Pattern: "/.well-known/did.json", Auth: httpserver.Public, Limit: httpserver.LimitPages, Tags: tags,
				Summary: "DID document of this service",
				Doc:     "Its id is the audience of every token for this service.",
				Replies: []httpserver.Reply{{Status: http.StatusOK, Body: identity.Document{}}},
				Handler: func(w http.ResponseWriter, _ *http.Request) error {
					w.Header().Set("Cache-Control", "public, max-age=60")
					return httpserver.WriteJSON(w, http.StatusOK, s.Document())
				},
			},
			{
				Method: http.MethodPost, Pattern: "/api/revocations", Auth: httpserver.Public, Limit: httpserver.LimitRevocations, Tags: tags,
				Summary: "Revoke a token",
				Doc: "Takes a ucan/revoke invocation to this service, signed by an issuer in the revoked token's chain, " +
					"with the token among its proofs. Irreversible; every node honours it within a second. A token that has been " +
					"expired for a day is refused: there is nothing to revoke. Limited by address and in all (429).",
				Body: Revoke{}, MaxBody: 256 << 10,
				Replies: []httpserver.Reply{{Status: http.StatusOK, Body: Revoked{}}},
				Handler: func(w http.ResponseWriter, r *http.Request) error { return revoke(w, r, s, all) },
			},
			{
				Method: http.MethodPost, Pattern: "/api/revocations/check", Auth: httpserver.Public, Limit: httpserver.LimitPages, Tags: tags,
				Summary: "Ask which tokens were revoked",
				Body:    Check{}, Replies: []httpserver.Reply{{Status: http.StatusOK, Body: Checked{}}},
				Handler: func(w http.ResponseWriter, r *http.Request) error { return check(w, r, s) },
			},
		},
	}
}

func revoke(w http.ResponseWriter, r *http.Request, s *identity.Service, all *ratelimit.Limiter) error {
	var body Revoke
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
		return err
	}
	judged, err := s.JudgeRevocation(r.Context(), body.Revocation)
	if err != nil {
		return err
	}
	// Nobody can keep the operator from revoking by revoking a lot, and to say
	// again what is known takes no room.
	if judged.By != s.DID() && !s.Knows(judged) {
		if ok, wait := all.Allow(ratelimit.Key{}); !ok {
			return ratelimit.Refusal(wait)
		}
	}
	done, err := s.Record(r.Context(), judged)
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, Revoked{Kind: string(done.Kind), Target: done.Target, By: done.By})
}

func check(w http.ResponseWriter, r *http.Request, s *identity.Service) error {
	var body Check
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
		return err
	}
	if len(body.CIDs) > maxChecked {
		return fault.Newf(fault.Invalid, "cids must contain no more than %d elements", maxChecked)
	}
	revoked, err := s.CheckRevoked(r.Context(), body.CIDs)
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, Checked{Revoked: revoked})
}
