package app

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
	"github.com/castalia-org/castalia/internal/service/query"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/plugin"
)

// telephoneOracle lets telephone users talk to the oracle. Each account has a
// conversation of its own, under a name that no credential can prove: nobody
// reads it from elsewhere.
type telephoneOracle struct {
	talks *turn.Turns
	// key hides telephone numbers in what is counted by them.
	key []byte
	// questions is what a number may ask in a day, for the text of a refusal.
	questions int64
}

var _ ussd.AskOracle = telephoneOracle{}

// telephoneUser begins the names of telephone users' accounts.
const telephoneUser = oracle.TelephoneSponsor

// sponsor is under which name the questions of a telephone number are counted,
// whatever account it logs in to.
func (o telephoneOracle) sponsor(phone string) string {
	mac := hmac.New(sha256.New, o.key)
	mac.Write([]byte("castalia questions of a telephone " + phone))
	return telephoneUser + "number:" + hex.EncodeToString(mac.Sum(nil)[:16])
}

// Ask implements ussd.AskOracle. The question's id is the request's: asking
// again waits for the same answer.
func (o telephoneOracle) Ask(ctx context.Context, q ussd.Question) (string, error) {
	user := telephoneUser + q.Account
	session, err := o.talks.Open(ctx, user, "telephone")
	if err != nil {
		return "", fmt.Errorf("open conversation: %w", err)
	}
	answer, err := o.talks.AskFor(ctx, plugin.Question{
		UserDID: user, SessionID: session, RequestID: q.ID, Message: q.Text,
		Metadata: map[string]any{"channel": "ussd", "language": q.Language},
	}, o.sponsor(q.Phone))
	if f, ok := errors.AsType[*fault.Error](err); ok && (f.Code == oracle.CodeMessages || f.Code == oracle.CodeCost) {
		return "", &ussd.EnoughError{Questions: o.questions}
	}
	if err != nil {
		return "", err
	}
	return answer.Text, nil
}

// telephoneLookUp finds entities through the query service.
type telephoneLookUp struct {
	queries *query.Gateway
	prefix  string // of the protocol's own paths
}

var _ ussd.LookUp = telephoneLookUp{}

// LookUpEntity implements ussd.LookUp. The last part of an entity's DID is
// enough: nobody types the rest on a telephone.
func (l telephoneLookUp) LookUpEntity(ctx context.Context, id string) (string, error) {
	if !strings.HasPrefix(id, "did:") {
		id = "did:ixo:entity:" + id
	}
	body, err := l.queries.Get(ctx, "/"+l.prefix+"/entity/"+url.PathEscape(id))
	if status, ok := errors.AsType[*query.StatusError](err); ok {
		return "", fault.Wrap(status.Kind(), status.Message, err)
	}
	if err != nil {
		return "", fmt.Errorf("ask for entity: %w", err)
	}
	var reply struct {
		Entity struct {
			ID        string `json:"id"`
			Type      string `json:"type"`
			StartDate string `json:"start_date"`
			EndDate   string `json:"end_date"`
			Status    int    `json:"status"`
			Verified  bool   `json:"entity_verified"`
		} `json:"entity"`
	}
	if err := json.Unmarshal(body, &reply); err != nil {
		return "", fmt.Errorf("read entity: %w", err)
	}
	e := reply.Entity
	verified := "no"
	if e.Verified {
		verified = "yes"
	}
	lines := []string{e.ID, "Type: " + e.Type, fmt.Sprintf("Status: %d", e.Status), "Verified: " + verified}
	for _, date := range [][2]string{{"From: ", e.StartDate}, {"Until: ", e.EndDate}} {
		if len(date[1]) >= len("2026-01-01") {
			lines = append(lines, date[0]+date[1][:len("2026-01-01")])
		}
	}
	return strings.Join(lines, "\n"), nil
}

// ownPrefix is the first path segment of the protocol's own queries.
func ownPrefix(prefixes []string) string {
	if len(prefixes) == 0 {
		return "ixo"
	}
	old, renamed, ok := strings.Cut(prefixes[0], "=")
	if ok {
		return renamed
	}
	return old
}
