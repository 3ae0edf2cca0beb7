package knowledgekit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/knowledge/inquiry"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdquestion"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
)

// toSession brings answers into the conversations in which they were asked for. It
// needs the tables alone, so that every node can; tell, when set, lets open pages
// know.
func toSession(store *oraclesql.Store, now func() time.Time, tell oracle.Publisher) inquiry.Deliver {
	return func(ctx context.Context, r inquiry.Reply) error {
		if r.Asker.Session == "" {
			return nil // the asker looks for it
		}
		m := oracle.Message{
			ID: messageID(r.ID), SessionID: r.Asker.Session, Role: oracle.AI, Content: said(r), CreatedAt: now(),
		}
		if err := store.AddReply(ctx, r.Asker.ID, m); err != nil {
			return err
		}
		if tell == nil {
			return nil
		}
		to := oracle.Address{SessionID: m.SessionID, RequestID: m.ID}
		e, err := oracle.NewEvent(oracle.EventMessageCacheInvalidation, to,
			oracle.MessageCacheInvalidation{Address: to, Status: "done"})
		if err != nil {
			return err
		}
		_ = tell.Publish(ctx, e) // a hint: the message is there
		return nil
	}
}

// TellPages lets open pages know of answers at once.
func (k *Kit) TellPages(store *oraclesql.Store, pages oracle.Publisher) {
	k.Inquiries.Reach(inquiry.Web, toSession(store, k.Service.Now, pages))
}

// messageID is the inquiry's name in the form that messages have.
func messageID(id string) string {
	if len(id) != 32 {
		return id
	}
	return id[:8] + "-" + id[8:12] + "-" + id[12:16] + "-" + id[16:20] + "-" + id[20:]
}

// said is what a conversation shows.
func said(r inquiry.Reply) string {
	if r.Language == "sw" {
		return fmt.Sprintf("Watu wetu wamejibu swali lako “%s”:\n\n%s", r.Question, r.Answer)
	}
	return fmt.Sprintf("Our people have answered your question “%s”:\n\n%s", r.Question, r.Answer)
}

// toTelephone leaves answers where telephones look for them. What a person asked is
// told to the telephone only while it is that person's: it may come from documents
// that are nobody else's. The person has it on the web.
func toTelephone(store *ussdsql.Store, now func() time.Time) inquiry.Deliver {
	return func(ctx context.Context, r inquiry.Reply) error {
		if r.Asker.Person != "" {
			linked, err := store.Link(ctx, r.Asker.ID)
			if err != nil {
				return fmt.Errorf("look for the person: %w", err)
			}
			if linked != r.Asker.Person {
				return fault.New(fault.Gone, "the telephone is somebody else's")
			}
		}
		err := store.LeaveAnswer(ctx, ussdquestion.Question{
			ID: "people:" + r.ID, Account: r.Asker.ID, Language: r.Language, Text: r.Question,
			Answer: ussdquestion.Shorten(r.Answer), State: ussdquestion.Answered, Created: now(),
		})
		if errors.Is(err, ussd.ErrNoAccount) {
			return fault.New(fault.Gone, "the account is gone")
		}
		return err
	}
}
