// Package knowledgekit puts knowledge together with the services that it stands on
// and those that ask it: it is wiring, and holds no rules of its own.
package knowledgekit

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/castalia-org/castalia/internal/app/keyring"
	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/bus"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/quiet"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge/document"
	"github.com/castalia-org/castalia/internal/service/knowledge/inquiry"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgehttp"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgemcp"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgesql"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgetool"
	"github.com/castalia-org/castalia/internal/service/oracle/coldstore"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
	"github.com/castalia-org/castalia/plugin"
)

// changedSubject is the subject on which nodes tell each other that there is something to
// read, or something new to find.
const changedSubject = "knowledge.changed"

// Deps are what the kit needs of the program.
type Deps struct {
	DB *sqldb.DB
	// Outbox hears of documents that were read, or could not be.
	Outbox knowledgesql.Outbox
	Blobs  blob.Store
	Bus    bus.Bus
	Files  *filestore.Service
	Reader knowledge.Reader
	// Readers is how many documents Reader reads at once; 0 is as the service has it.
	Readers int
	Member  func(ctx context.Context, did string) (bool, error)
	Keys    keyring.Files
	Node    string
	Log     *slog.Logger
	Now     func() time.Time
	// Surface says how routes are reached.
	Surface knowledgehttp.Deps
	// Embedder, when set, finds passages by what they mean too.
	Embedder knowledge.Embedder
	Metrics  *telemetry.Metrics
	// Held is what somebody's delegation to this service proves of other people's files.
	Held func(ctx context.Context, user identity.Principal, abilities ...string) ([]identity.Principal, error)
	// Synonyms is what words mean to the community.
	Synonyms func() *analyse.Synonyms
	// Cold brings back conversations that answers belong to; nil brings none.
	Cold coldstore.Thawer
	// Quiet spares workers looks that would find nothing; nil spares none.
	Quiet *quiet.Watch
	// Changed is the subject on which the file store tells of changes.
	Changed string
}

// Kit is knowledge, with its routes, workers and faces.
type Kit struct {
	Service *knowledge.Service
	// Inquiries are questions that people answer. Whoever has a channel says how
	// answers reach it.
	Inquiries *inquiry.Service
	Surfaces  []httpserver.Surface
	Workers   map[string]func(context.Context) error
	// Tools adds the tools for agents to an MCP server.
	Tools knowledgemcp.Adder
	// CallerOf is what somebody may read in a conversation: as who they are, and by
	// their delegation.
	CallerOf func(ctx context.Context, user identity.Principal) (knowledge.Caller, error)
}

// New puts it together.
func New(ctx context.Context, d Deps) *Kit {
	cfg := knowledge.Config{
		MasterKey: d.Keys.Current, OldKeys: d.Keys.Old, InForce: d.Keys.InForce, Node: d.Node, Readers: d.Readers,
	}
	if d.Reader == nil {
		d.Reader = illiterate{}
	}
	hintCtx := context.WithoutCancel(ctx) // hints go out as long as the service lives
	records := knowledgesql.New(d.DB).WithOutbox(d.Outbox).WithQuiet(d.Quiet)
	svc := knowledge.New(knowledge.Deps{
		Embedder: d.Embedder,
		Store:    records, Files: files{d.Files}, Blobs: d.Blobs, Reader: d.Reader, Member: d.Member, Synonyms: d.Synonyms,
		Counted: files{d.Files}.counted, Quiet: d.Quiet, Logger: d.Log, Now: d.Now,
		Hint: func() {
			if err := d.Bus.Publish(hintCtx, changedSubject, nil); err != nil {
				d.Log.Debug("other nodes were not told of knowledge", slog.Any("error", err))
			}
		},
	}, cfg)
	asked := inquiry.New(inquiry.Deps{Knowledge: svc, Store: records, Logger: d.Log, Now: d.Now})
	asked.Reach(inquiry.Web, toSession(oraclesql.New(d.DB).WithCold(d.Cold), d.Now, nil))
	asked.Reach(inquiry.Telephone, toTelephone(ussdsql.New(d.DB), d.Now))
	surface := d.Surface
	surface.Inquiries = asked
	surface.Admit = files{d.Files}.admit
	holders := holders{svc: svc, held: d.Held, admit: surface.Admit, log: d.Log}
	surface.CallerOf = holders.callerOf
	k := &Kit{
		Service: svc, Inquiries: asked, CallerOf: holders.callerOf, Tools: knowledgemcp.NewAdder(svc),
		Surfaces: knowledgehttp.Surfaces(svc, surface),
	}
	k.Workers = map[string]func(context.Context) error{
		"follow": svc.RunFollower, "read": svc.RunReaders, "tidy": svc.RunTidier, "replies": asked.RunReplies,
		"wake": func(ctx context.Context) error { return wake(ctx, d.Bus, svc, changedSubject, d.Changed) },
	}
	if d.Embedder != nil {
		k.Workers["embed"] = svc.RunEmbedder
		measureEmbeddings(d.Metrics, svc)
	}
	return k
}

// wake passes hints on to the workers.
func wake(ctx context.Context, hints bus.Bus, svc *knowledge.Service, subjects ...string) error {
	for _, subject := range subjects {
		sub, err := hints.Subscribe(subject, func(bus.Message) { svc.Wake() })
		if err != nil {
			return fmt.Errorf("hear of knowledge: %w", err)
		}
		defer func() { _ = sub.Unsubscribe() }()
	}
	<-ctx.Done()
	return nil
}

// illiterate reads nothing.
type illiterate struct{}

// Read implements knowledge.Reader.
func (illiterate) Read(context.Context, document.Source) (*document.Document, error) {
	return nil, document.Problem("documents are not read here")
}

// RotateKeys wraps the keys of collections under the current master key, keeps who asked
// people something under it, and returns how many there were of both.
func RotateKeys(ctx context.Context, db *sqldb.DB, keys keyring.Files) (int, error) {
	records := knowledgesql.New(db)
	svc := knowledge.New(knowledge.Deps{Store: records}, knowledge.Config{MasterKey: keys.Current, OldKeys: keys.Old})
	collections, err := svc.RotateKeys(ctx)
	if err != nil {
		return collections, err
	}
	askers, err := inquiry.New(inquiry.Deps{Knowledge: svc, Store: records}).RotateKeys(ctx)
	return collections + askers, err
}

// For is what the oracle's tools use of knowledge for a user, with the delegation that
// came with the request.
func (k *Kit) For(userDID string, b identity.Brought) plugin.Knowledge {
	user := b.Of(userDID)
	return &face{svc: k.Service, caller: func(ctx context.Context) (knowledge.Caller, error) {
		return k.CallerOf(ctx, user)
	}}
}

type face struct {
	svc *knowledge.Service
	// caller is asked each time: a delegation may be withdrawn in the middle of a turn.
	caller func(context.Context) (knowledge.Caller, error)
	cited  atomic.Int64 // the passages of the turn have been numbered so far
}

// CiteAfter says that passages have numbers already.
func (f *face) CiteAfter(n int) { f.cited.Store(int64(n)) }

// number takes numbers for passages and returns the first.
func (f *face) number(n int) int { return int(f.cited.Add(int64(n))) - n + 1 }

// Tools implements plugin.Knowledge.
func (f *face) Tools(ctx context.Context) ([]plugin.ToolSpec, error) {
	who, err := f.caller(ctx)
	if err != nil {
		return nil, err
	}
	readable, err := f.svc.Readable(ctx, who)
	if err != nil || len(readable) == 0 {
		return nil, err
	}
	var out []plugin.ToolSpec
	for _, s := range knowledgetool.Specs() {
		out = append(out, plugin.ToolSpec{Name: s.Name, Description: s.Description, Schema: s.Schema})
	}
	return out, nil
}

// Call implements plugin.Knowledge.
func (f *face) Call(ctx context.Context, tool string, args json.RawMessage) (plugin.Result, error) {
	who, err := f.caller(ctx)
	if err != nil {
		return plugin.Result{}, err
	}
	reply, err := knowledgetool.Call(ctx, f.svc, who, tool, args, f.number)
	if fault.Is(err, fault.Invalid) || fault.Is(err, fault.NotFound) {
		return plugin.Result{}, &plugin.Error{Status: http.StatusBadRequest, Message: fault.From(err).Message, Cause: err}
	}
	// Titles and passages are the documents' words, also where nothing answers.
	return plugin.Result{Text: reply.Text, Untrusted: true, Citations: citations(reply.Facts.Sources)}, err
}

// citations are the passages of a reply as answers point to them.
func citations(sources []knowledgetool.Cited) []plugin.Citation {
	out := make([]plugin.Citation, 0, len(sources))
	for _, c := range sources {
		out = append(out, plugin.Citation{
			Number: c.Number, Collection: c.Collection, CollectionName: c.CollectionName, Document: c.Document,
			Passage: c.Passage,
			Title:   c.Title, Name: c.Name, Page: c.Page, Headings: c.Headings, Text: c.Text,
		})
	}
	return out
}
