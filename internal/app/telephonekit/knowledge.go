package telephonekit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/words"
	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge/inquiry"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpeople"
)

// Knowledge answers telephones from documents. A caller is nobody in particular there,
// also one who has logged in, unless the account is linked with a DID, whose documents
// answer then.
type Knowledge struct {
	svc     *knowledge.Service
	people  *inquiry.Service
	persons ussdpeople.Persons
	log     *slog.Logger

	mu      sync.Mutex
	looked  time.Time
	offered bool
}

var _ ussd.AskKnowledge = (*Knowledge)(nil)

// NewKnowledge returns a Knowledge.
func NewKnowledge(svc *knowledge.Service, people *inquiry.Service, persons ussdpeople.Persons,
	log *slog.Logger,
) *Knowledge {
	return &Knowledge{svc: svc, people: people, persons: persons, log: log}
}

// lookEvery is how often it is looked whether there are documents.
const lookEvery = 2 * time.Second

// Offered implements ussd.AskKnowledge.
func (k *Knowledge) Offered(ctx context.Context) bool {
	now := k.svc.Now()
	k.mu.Lock()
	offered, fresh := k.offered, now.Sub(k.looked) < lookEvery && !now.Before(k.looked)
	if !fresh {
		k.looked = now // one looks, and the others do not wait for it
	}
	k.mu.Unlock()
	if fresh {
		return offered
	}
	all, err := k.svc.Readable(ctx, knowledge.Caller{})
	if err != nil {
		k.log.DebugContext(ctx, "nobody knows whether there are documents for telephones", slog.Any("error", err))
		return offered
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.offered = len(all) > 0
	return k.offered
}

// caller is the person that the account is linked with, or nobody in particular.
func (k *Knowledge) caller(ctx context.Context, account string) (knowledge.Caller, error) {
	did, err := k.persons.PersonOf(ctx, account)
	if err != nil {
		return knowledge.Caller{}, err
	}
	return k.svc.CallerOf(ctx, did)
}

// shown is how many passages a telephone shows.
const shown = 3

// AskDocuments implements ussd.AskKnowledge.
func (k *Knowledge) AskDocuments(ctx context.Context, account, question, language string) (string, bool, error) {
	who, err := k.caller(ctx, account)
	if err != nil {
		return "", false, err
	}
	a, err := k.svc.Search(ctx, who, knowledge.Question{Text: question, Language: language, Limit: shown})
	if err != nil {
		return "", false, err
	}
	in := words.Shipped().Or(language, words.Shipped().English())
	if !a.Answered {
		text := in.SayPlain("phone.unknown", nil)
		if len(a.Nearest) > 0 {
			text += " " + in.SayPlain("phone.nearest", words.Values{"titles": strings.Join(a.Nearest, "; ")})
		}
		return text, false, nil
	}
	var parts []string
	for _, h := range a.Best() {
		parts = append(parts, strings.Join(h.Sentences, " ")+"\n"+source(in, h))
	}
	return strings.Join(parts, "\n"), true, nil
}

// source says where a passage stands.
func source(in *words.Language, h knowledge.Hit) string {
	page := strconv.Itoa(h.Page)
	switch {
	case h.Pair && h.Page > 0:
		return in.SayPlain("phone.peoplePage", words.Values{"page": page})
	case h.Pair:
		return in.SayPlain("phone.people", nil)
	case h.Page > 0:
		return in.SayPlain("phone.sourcePage", words.Values{"title": h.Title, "page": page})
	}
	return in.SayPlain("phone.source", words.Values{"title": h.Title})
}

// AskPeople implements ussd.AskKnowledge. A person who is linked with the account
// asks the people of what that person may read, and finds the question elsewhere too.
func (k *Knowledge) AskPeople(ctx context.Context, q ussd.PeopleQuestion) error {
	who, err := k.caller(ctx, q.Account)
	if err != nil {
		return err
	}
	id := sha256.Sum256([]byte("question for people\x00" + q.ID + "\x00" + q.Text))
	_, err = k.people.Ask(ctx, who, inquiry.Asking{
		ID: hex.EncodeToString(id[:16]), Text: q.Text, Language: q.Language,
		Asker: inquiry.Asker{Channel: inquiry.Telephone, ID: q.Account, Person: who.DID, Shown: q.Name != "", Name: q.Name},
	})
	return err
}
