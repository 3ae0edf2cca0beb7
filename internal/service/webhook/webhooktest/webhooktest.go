// Package webhooktest has what tests of webhooks share: a receiver that keeps
// what it was sent, and the tables.
package webhooktest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/queue"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/webhook/webhooksql"
)

// Migrated brings a database up to date for webhooks.
func Migrated(t testing.TB, db *sqldb.DB) *sqldb.DB {
	t.Helper()
	return sqldbtest.Migrate(t, db, queue.Migrations(), webhooksql.Migrations())
}

// Delivery is a request that a Receiver got.
type Delivery struct {
	Header http.Header
	Body   []byte
}

// Receiver is a program that webhooks are sent to.
type Receiver struct {
	*httptest.Server
	// Got has every request, in order.
	Got chan Delivery

	mu     sync.Mutex
	status int
	before func()
	pause  string
}

// NewReceiver starts a receiver that answers 204.
func NewReceiver(t testing.TB) *Receiver {
	t.Helper()
	r := &Receiver{Got: make(chan Delivery, 1000), status: http.StatusNoContent}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// Answer sets the status of later answers, and what is done before each.
func (r *Receiver) Answer(status int, before func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status, r.before = status, before
}

// AskFor sets the Retry-After of later answers; empty asks for nothing.
func (r *Receiver) AskFor(pause string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pause = pause
}

// ServeHTTP takes a webhook.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(io.LimitReader(req.Body, 1<<20))
	if err != nil {
		return
	}
	r.mu.Lock()
	status, before, pause := r.status, r.before, r.pause
	r.mu.Unlock()
	r.Got <- Delivery{Header: req.Header.Clone(), Body: body}
	if before != nil {
		before()
	}
	if pause != "" {
		w.Header().Set("Retry-After", pause)
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, http.StatusText(status))
}
