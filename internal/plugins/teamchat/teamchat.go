// Package teamchat lets people talk to the oracle from their team's chat, which
// speaks as Slack does.
//
// It promises that only requests which the chat signed a moment ago are heard;
// that an event which was acknowledged is answered, also when the node is killed
// right after, and answered once however often the chat sends it and to however
// many nodes; that everybody speaks as themselves: each member of the team links his
// own DID by a one-time link, and whoever has not is asked to, never served under
// another name; that a thread is a session.
//
// Decision: ADR 0067.
package teamchat

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/castalia-org/castalia/plugin"
	"github.com/castalia-org/castalia/plugin/pluginhttp"
	"github.com/castalia-org/castalia/plugin/pluginqueue"
)

// Config is filled from the environment.
type Config struct {
	Secret string `env:"SLACK_SIGNING_SECRET" secret:"true" doc:"Signing secret of the team chat's webhook."`
	Token  string `env:"SLACK_BOT_TOKEN" secret:"true" doc:"Bot token with which answers are posted."`
	API    string `env:"SLACK_API_URL" default:"https://slack.com/api" machine:"true" doc:"Web API of the team chat."`
	// Operators is the secret of those who look after what could not be answered.
	Operators string `env:"TEAMCHAT_SECRET" secret:"true" doc:"Bearer with which operators see events that could not be answered and try again; without it nobody can."`
	URL       string `env:"TEAMCHAT_URL" machine:"true" doc:"Address under which people reach the console, for links; empty means PUBLIC_URL, or what a trusted proxy says."`
}

// Plugin is the teamchat plugin.
type Plugin struct {
	cfg   Config
	store plugin.Store
	log   *slog.Logger
	talk  plugin.Conversations
	name  string
	api   *webAPI
	queue *pluginqueue.Queue
	wake  chan struct{}
}

// New makes the plugin. Its settings are those of cfg until they are filled.
func New(cfg Config) *Plugin { return &Plugin{cfg: cfg, wake: make(chan struct{}, 1)} }

var (
	_ plugin.Configurer          = (*Plugin)(nil)
	_ plugin.AutoDetector        = (*Plugin)(nil)
	_ plugin.Starter             = (*Plugin)(nil)
	_ plugin.WorkerProvider      = (*Plugin)(nil)
	_ plugin.PublicRouteProvider = (*Plugin)(nil)
	_ pluginhttp.RouteProvider   = (*Plugin)(nil)
)

// Describe names the plugin.
func (*Plugin) Describe() plugin.Description {
	return plugin.Description{
		Name: "teamchat", Version: "1.0.0",
		Manifest: plugin.Manifest{Title: "Team chat", Summary: "Answers in the team's chat.", Visibility: plugin.Silent},
	}
}

// Config hands out the settings to fill.
func (p *Plugin) Config() any { return &p.cfg }

// AutoDetect is on when the chat can be heard and answered.
func (p *Plugin) AutoDetect() (on bool, why string) {
	switch {
	case p.cfg.Secret == "":
		return false, "SLACK_SIGNING_SECRET is not set"
	case p.cfg.Token == "":
		return false, "SLACK_BOT_TOKEN is not set"
	}
	return true, "SLACK_SIGNING_SECRET and SLACK_BOT_TOKEN are set"
}

// How work is done.
const (
	parallel = 8
	lookIn   = time.Second
	remember = 3 * 24 * time.Hour
)

// Start opens the queue.
func (p *Plugin) Start(_ context.Context, host plugin.Host) error {
	api, err := pluginhttp.NewRemote(p.cfg.API, http.Header{"Authorization": {"Bearer " + p.cfg.Token}})
	if err != nil {
		return fmt.Errorf("SLACK_API_URL: %w", err)
	}
	if p.cfg.URL != "" {
		if _, err := pluginhttp.NewRemote(p.cfg.URL, nil); err != nil {
			return fmt.Errorf("TEAMCHAT_URL: %w", err)
		}
	}
	p.store, p.log, p.talk, p.name, p.api = host.Store, host.Log, host.Conversations, host.OracleName, &webAPI{api}
	p.queue = pluginqueue.New(host.Store, pluginqueue.Config{
		Name: "work", Lease: 20 * time.Second, Attempts: 10, Backoff: 2 * time.Second, Remember: remember,
	})
	return nil
}

// Workers answer what was acknowledged, on every node.
func (p *Plugin) Workers() []plugin.Worker {
	return []plugin.Worker{{Name: "answers", Run: func(ctx context.Context) error {
		return p.queue.Work(ctx, parallel, lookIn, p.wake, p.handle)
	}}}
}

// enqueue stores work under an id that the chat chose. It reports whether that
// was new; when it returns without an error, the work will be done.
func (p *Plugin) enqueue(ctx context.Context, id string, j job) (added bool, err error) {
	err = p.store.Update(ctx, func(ctx context.Context, tx plugin.Tx) (err error) {
		added, err = p.queue.Add(ctx, tx, id, j, 0)
		return err
	})
	p.nudge()
	return added, err
}

// nudge makes this node's worker look at once.
func (p *Plugin) nudge() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}
