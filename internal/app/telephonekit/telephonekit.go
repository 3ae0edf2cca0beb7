// Package telephonekit is what telephone menus use of the other services: the
// oracle, the query gateway and knowledge. It is wiring, and holds no rules of its
// own.
//
// Decision: ADR 0195.
package telephonekit

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
	"github.com/castalia-org/castalia/internal/platform/pace"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
	"github.com/castalia-org/castalia/internal/service/query"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpeople"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdquestion"
	"github.com/castalia-org/castalia/plugin"
)

// Oracle lets telephone users talk to the oracle. Each account has a conversation
// of its own, under a name that no credential can prove: nobody reads it from
// elsewhere. An account that is linked with a DID talks as that person.
type Oracle struct {
	Talks   *turn.Turns
	Persons ussdpeople.Persons
	// Approvals are what turns of Talks wait for.
	Approvals Approvals
	// Key hides telephone numbers in what is counted by them.
	Key []byte
	// Questions is what a number may ask in a day, for the text of a refusal.
	Questions func() int64
}

var _ ussdquestion.Oracle = Oracle{}

// User begins the names of telephone users' accounts.
const User = oracle.TelephoneSponsor

// sponsor is under which name the questions of a telephone number are counted,
// whatever account it logs in to.
func (o Oracle) sponsor(phone string) string {
	mac := hmac.New(sha256.New, o.Key)
	mac.Write([]byte("castalia questions of a telephone " + phone))
	return User + "number:" + hex.EncodeToString(mac.Sum(nil)[:16])
}

// asker is who asks, who answers for it, and how many questions that allows in a day.
func (o Oracle) asker(ctx context.Context, q ussdquestion.Question) (user, sponsor string, questions int64, err error) {
	if q.Account == "" { // a text message, of whoever writes under the number
		number := o.sponsor(q.Phone)
		return number, number, o.Questions(), nil
	}
	did, err := o.Persons.PersonOf(ctx, q.Account)
	switch {
	case err != nil:
		return "", "", 0, fmt.Errorf("look for the person: %w", err)
	case did != "":
		return did, did, 0, nil // with what the person may use up
	}
	return User + q.Account, o.sponsor(q.Phone), o.Questions(), nil
}

// Ask implements ussdquestion.Oracle. The question's id is the request's: asking
// again waits for the same answer.
func (o Oracle) Ask(ctx context.Context, q ussdquestion.Question) (string, error) {
	user, sponsor, questions, err := o.asker(ctx, q)
	if err != nil {
		return "", err
	}
	session, err := o.Talks.Open(ctx, user, "telephone")
	if err != nil {
		return "", fmt.Errorf("open conversation: %w", err)
	}
	var answer plugin.Answer
	for {
		answer, err = o.Talks.AskFor(ctx, plugin.Question{
			UserDID: user, SessionID: session, RequestID: q.ID, Message: q.Text,
			Metadata: map[string]any{"channel": "ussd", "language": q.Language},
		}, sponsor)
		if err != nil || answer.Status != turn.Paused {
			break
		}
		if err := o.asks(ctx, user, session, answer.RunID, q.Language); err != nil {
			return "", err
		}
		if err := pace.Sleep(ctx, rewait); err != nil { // answered, and about to go on
			return "", err
		}
	}
	if f, ok := errors.AsType[*fault.Error](err); ok && (f.Code == oracle.CodeMessages || f.Code == oracle.CodeCost) {
		return "", &ussdquestion.EnoughError{Questions: questions}
	}
	if err != nil {
		return "", err
	}
	return answer.Text, nil
}

// LookUp finds entities through the query service.
type LookUp struct {
	Queries *query.Gateway
	Prefix  string // of the protocol's own paths
}

var _ ussd.LookUp = LookUp{}

// LookUpEntity implements ussd.LookUp. The last part of an entity's DID is
// enough: nobody types the rest on a telephone.
func (l LookUp) LookUpEntity(ctx context.Context, id string) (string, error) {
	if !strings.HasPrefix(id, "did:") {
		id = "did:ixo:entity:" + id
	}
	body, err := l.Queries.Get(ctx, "/"+l.Prefix+"/entity/"+url.PathEscape(id))
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

// OwnPrefix is the first path segment of the protocol's own queries.
func OwnPrefix(prefixes []string) string {
	if len(prefixes) == 0 {
		return "ixo"
	}
	old, renamed, ok := strings.Cut(prefixes[0], "=")
	if ok {
		return renamed
	}
	return old
}
