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
	words := wordsOf(language)
	if !a.Answered {
		text := words.unknown
		if len(a.Nearest) > 0 {
			text += " " + words.nearest + ": " + strings.Join(a.Nearest, "; ") + "."
		}
		return text, false, nil
	}
	var parts []string
	for _, h := range a.Best() {
		source := words.source + ": " + h.Title
		if h.Pair {
			source = words.people
		}
		if h.Page > 0 {
			source += ", " + words.page + " " + strconv.Itoa(h.Page)
		}
		parts = append(parts, strings.Join(h.Sentences, " ")+"\n"+source)
	}
	return strings.Join(parts, "\n"), true, nil
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

// phrases are what stands around the words of documents.
type phrases struct{ unknown, nearest, source, page, people string }

func wordsOf(language string) phrases {
	if language == "sw" {
		return phrases{"Sijui: nyaraka hazina jibu.", "Za karibu", "Chanzo", "uk.", "Jibu la watu wetu"}
	}
	return phrases{"I do not know: no document answers this.", "Nearest", "Source", "p.", "Answered by our people"}
}
