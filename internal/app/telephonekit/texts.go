package telephonekit

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/app/causes"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/pace"
	"github.com/castalia-org/castalia/internal/platform/quiet"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
	"github.com/castalia-org/castalia/internal/platform/trouble"
	"github.com/castalia-org/castalia/internal/platform/words"
	"github.com/castalia-org/castalia/internal/service/oracle/outbound"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdquestion"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsms"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsms/ussdsmshttp"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsms/ussdsmssend"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsms/ussdsmssql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
)

// TextDeps is what text messages are made of.
type TextDeps struct {
	DB       *sqldb.DB
	Keys     *ussdpin.Keys
	Settings config.SMS
	Name     string // who writes
	// Public is where the outside finds this deployment, or "".
	Public  string
	Usual   *words.Language
	Limiter *ratelimit.Limiter
	Metrics *telemetry.Metrics
	// Quiet spares workers looks while nothing waits; nil spares none.
	Quiet *quiet.Watch
	Log   *slog.Logger
	Now   func() time.Time
}

// reports is where the gateway says what became of messages, or "" where it cannot know.
func (d TextDeps) reports() string {
	if d.Public == "" {
		return ""
	}
	return strings.TrimSuffix(d.Public, "/") + ussdsmshttp.PathTwilioReports
}

// Texts are the text messages of a node. Without a gateway nothing is sent, and
// their routes are closed.
type Texts struct {
	service *ussdsms.Service
	store   *ussdsmssql.Store
	words   ussdsms.Words
	answers bool
	log     *slog.Logger
	now     func() time.Time
	Surface httpserver.Surface
}

// shortestSecret is how long what proves a gateway must be: it is all that does.
const shortestSecret = 16

// NewTexts puts them together.
func NewTexts(d TextDeps) (*Texts, error) {
	s := d.Settings
	t := &Texts{words: ussdsms.Words{Name: d.Name, Usual: d.Usual}, answers: s.Answers, log: d.Log, now: d.Now}
	incoming := ussdsmshttp.Deps{
		Gateway: s.Gateway, Limiter: d.Limiter,
		Secrets: []string{s.Secret.Reveal(), s.SecretOld.Reveal()},
		Tokens:  []string{s.Key.Reveal(), s.KeyOld.Reveal()},
	}
	for name, secret := range map[string]config.Secret{"SMS_SECRET": s.Secret, "SMS_SECRET_OLD": s.SecretOld} {
		if n := len(secret.Reveal()); n > 0 && n < shortestSecret {
			return nil, fmt.Errorf("%s: give at least %d characters, such as those of openssl rand -hex 32", name, shortestSecret)
		}
	}
	observer := newTextMetrics(d.Metrics)
	if s.Gateway == "" {
		t.Surface = ussdsmshttp.Surface(incoming)
		return t, nil
	}
	gateway, err := ussdsmssend.New(ussdsmssend.Config{
		Gateway: s.Gateway, Base: s.URL.Reveal(), Account: s.Account, Key: s.Key.Reveal(), From: s.From,
		Plain: s.AllowPrivate, Reports: d.reports(),
		Client: outbound.Client(outbound.Config{AllowPrivate: s.AllowPrivate}), Refused: outbound.ErrPrivate,
	})
	if err != nil {
		return nil, err
	}
	var price ussdsms.Cost
	if s.Price != "" {
		if price, err = ussdsmssend.ParseCost(s.Price); err != nil {
			return nil, fmt.Errorf("SMS_PRICE: %w", err)
		}
	}
	t.store = ussdsmssql.New(d.DB,
		ussdsmssql.Config{
			Keys: d.Keys, Limits: ussdsms.Limits{Number: s.NumberParts, Day: s.DayParts}, Price: price, Quiet: d.Quiet,
			Now: d.Now,
		})
	t.service = ussdsms.New(ussdsms.Deps{
		Store: t.store, Gateway: gateway, Words: t.words, Observer: observer, Log: d.Log, Now: d.Now,
		Language: ussdsql.New(d.DB).LanguageOf,
	})
	incoming.Service = t.service
	t.Surface = ussdsmshttp.Surface(incoming)
	return t, nil
}

// Outgoing is where the telephones' store tells of codes, answers and forms; nil
// where nothing is sent.
func (t *Texts) Outgoing() ussdsql.Texts {
	if t.store == nil {
		return nil
	}
	return outgoing{t}
}

// Totals adds up the messages since a time, also those of other nodes.
func (t *Texts) Totals(ctx context.Context, since time.Time) ([]ussdsms.Total, error) {
	if t.store == nil {
		return nil, nil
	}
	return t.store.Totals(ctx, since)
}

// Causes says to operators that messages do not leave; nil where none are sent.
func (t *Texts) Causes() *causes.Part {
	if t.store == nil {
		return nil
	}
	return &causes.Part{Name: "text messages", Look: func(ctx context.Context) []*trouble.Trouble {
		switch why, err := t.store.Trouble(ctx); {
		case err != nil:
			return []*trouble.Trouble{trouble.New("health.unseen", nil)}
		case why != "":
			return []*trouble.Trouble{trouble.New("health.messagesWait", nil).With(why)}
		}
		return nil
	}}
}

// Left are the answers that others left for telephones, such as people whom they asked.
type Left interface {
	// TellLeft has messages sent of those that nobody was told of, and returns of how many.
	TellLeft(ctx context.Context, limit int, now time.Time) (int, error)
}

// The pace of looking for answers that were left.
const (
	leftEvery = 5 * time.Second
	leftSlice = 50
)

// Workers send what waits, tell of answers that were left, and ask what came in, the latter
// where this node has the oracle.
func (t *Texts) Workers(oracle ussdquestion.Oracle, left Left) map[string]func(context.Context) error {
	out := map[string]func(context.Context) error{}
	if t.service == nil {
		return out
	}
	out["send messages"] = t.service.Send
	if t.answers {
		out["tell of answers"] = func(ctx context.Context) error {
			pace.Every(ctx, leftEvery, func() bool {
				if _, err := left.TellLeft(ctx, leftSlice, t.now()); err != nil && ctx.Err() == nil {
					t.log.WarnContext(ctx, "background work failed", slog.String("event", "ussd.worker_failed"), slog.String("work", "tell of answers"), slog.Any("error", err))
				}
				return true
			})
			return nil
		}
	}
	if oracle != nil {
		out["ask messages"] = func(ctx context.Context) error { return t.service.Ask(ctx, oracle) }
	}
	return out
}

// outgoing says in messages what the store tells of.
type outgoing struct{ *Texts }

// CodeIn implements ussdsql.Texts.
func (o outgoing) CodeIn(ctx context.Context, tx sqldb.Querier, id, phone, begin, language string,
	at time.Time,
) (string, error) {
	return o.store.TellIn(ctx, tx, ussdsms.Message{
		ID: "code/" + id, Kind: ussdsms.KindCode, Phone: phone, Text: o.words.Code(begin, language), At: at,
	})
}

// AnswerIn implements ussdsql.Texts.
func (o outgoing) AnswerIn(ctx context.Context, tx sqldb.Querier, question, phone, language string,
	at time.Time,
) error {
	if !o.answers {
		return nil
	}
	_, err := o.store.TellIn(ctx, tx, ussdsms.Message{
		ID: "answer/" + question, Kind: ussdsms.KindAnswer, Phone: phone, Text: o.words.Answer(language), At: at,
	})
	return err
}

// ReceiptIn implements ussdsql.Texts.
func (o outgoing) ReceiptIn(ctx context.Context, tx sqldb.Querier, submission, form, phone, language string,
	at time.Time,
) error {
	_, err := o.store.TellIn(ctx, tx, ussdsms.Message{
		ID: "receipt/" + submission, Kind: ussdsms.KindReceipt, Phone: phone,
		Text: o.words.Receipt(form, submission, language), At: at,
	})
	return err
}

var _ ussdsql.Texts = outgoing{}

type textMetrics struct {
	sent     func(kind, result string, took time.Duration)
	spent    func(parts int, c ussdsms.Cost)
	received func()
	reported func(kind, state string)
}

var _ ussdsms.Observer = textMetrics{}

func newTextMetrics(m *telemetry.Metrics) textMetrics {
	messages := m.Counter("ussd_sms_total", "Tries to hand text messages to the gateway, by kind and result: sent, refused, failed.", "kind", "result")
	duration := m.Histogram("ussd_sms_duration_seconds", "Time that the gateway of text messages takes.", nil, "result")
	parts := m.Counter("ussd_sms_parts_total", "Parts of text messages that were sent.").WithLabelValues()
	cost := m.Counter("ussd_sms_cost_total", "What the gateway said that text messages cost, by currency.", "currency")
	received := m.Counter("ussd_sms_received_total", "Text messages that came in.").WithLabelValues()
	reports := m.Counter("ussd_sms_reports_total", "Text messages of which the gateway said what became of them, by kind and result: delivered, undelivered.", "kind", "result")
	messages.WithLabelValues(string(ussdsms.KindReply), "failed") // there before the first one, for alerts
	return textMetrics{
		sent: func(kind, result string, took time.Duration) {
			messages.WithLabelValues(kind, result).Inc()
			duration.WithLabelValues(result).Observe(took.Seconds())
		},
		spent: func(n int, c ussdsms.Cost) {
			parts.Add(float64(n))
			if c.Currency != "" {
				cost.WithLabelValues(c.Currency).Add(float64(c.Micros) / 1e6)
			}
		},
		received: received.Inc,
		reported: func(kind, state string) { reports.WithLabelValues(kind, state).Inc() },
	}
}

// Sent implements ussdsms.Observer.
func (m textMetrics) Sent(kind ussdsms.Kind, result string, parts int, c ussdsms.Cost, took time.Duration) {
	m.sent(string(kind), result, took)
	m.spent(parts, c)
}

// Received implements ussdsms.Observer.
func (m textMetrics) Received() { m.received() }

// Reported implements ussdsms.Observer.
func (m textMetrics) Reported(kind ussdsms.Kind, state ussdsms.State) {
	m.reported(string(kind), string(state))
}
