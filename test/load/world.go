package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

const (
	stepLimit  = 30 * time.Second // of one request
	mostAtOnce = 20_000           // journeys under way; more are skipped and counted as such
	preloaders = 32
	tokenAge   = 4 * time.Minute // then a person makes a new one
	think      = 20 * time.Millisecond
)

// world is everybody who uses the deployment, and what was promised to them.
type world struct {
	s        settings
	urls     []string
	client   *http.Client
	audience did.DID
	people   []*person
	rec      *recorder
	begun    atomic.Int64
	pages    []*page

	mu     sync.Mutex
	stored []storedFile

	calls balance // telephone sessions that should be alive
	hole  *hole   // nil where nobody falls into one

	atRest *rest // what the database did while nobody asked, of runs on many records
}

// storedFile is a file that the deployment acknowledged.
type storedFile struct {
	owner *person
	path  string
	sum   [sha256.Size]byte
}

// balance is how many of something must be there: those that were acknowledged,
// and at most so many more whose request failed without saying what became of it.
type balance struct{ sure, unknown atomic.Int64 }

// settle counts a request that makes one.
func (b *balance) settle(err error) {
	if err != nil {
		b.unknown.Add(1)
		return
	}
	b.sure.Add(1)
}

// differs says how a count that the deployment reports does not fit.
func (b *balance) differs(what string, got int64) string {
	low, high := b.sure.Load(), b.sure.Load()+b.unknown.Load()
	if got >= low && got <= high {
		return ""
	}
	return fmt.Sprintf("%s: %d are there, want %d to %d", what, got, low, high)
}

// person has a key, and makes tokens with it.
type person struct {
	name     string
	signer   did.Signer
	audience did.DID

	mu            sync.Mutex
	minted        time.Time
	oracle, files string

	home     string // a session that is there from the start
	sessions balance
	uploads  balance
}

// tokens returns the person's credentials for the oracle and for the files.
func (p *person) tokens() (oracle, files string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.minted) > tokenAge {
		if p.oracle, err = p.issue(ucan.AnyAbility, identity.OracleResource); err != nil {
			return "", "", err
		}
		if p.files, err = p.issue(ucan.AnyAbility, identity.FileResource(string(p.signer.DID()), "/")); err != nil {
			return "", "", err
		}
		p.minted = time.Now()
	}
	return p.oracle, p.files, nil
}

func (p *person) issue(can, with string) (string, error) {
	t, err := ucan.Issue(p.signer, ucan.Statement{
		Audience: p.audience, Expires: time.Now().Add(2 * tokenAge),
		Capabilities: []ucan.Capability{ucan.NewCapability(can, with, ipld.Node{})},
	})
	if err != nil {
		return "", fmt.Errorf("make token: %w", err)
	}
	return t.Encode(), nil
}

func newWorld(ctx context.Context, s settings, p *place) (*world, error) {
	w := &world{s: s, urls: p.urls, client: &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: 1024, DisableCompression: true, IdleConnTimeout: time.Minute,
	}}}
	var document struct{ ID string }
	if _, err := w.get(ctx, request{path: "/.well-known/did.json"}, &document); err != nil {
		return nil, err
	}
	w.audience = did.DID(document.ID)
	for i := range s.users {
		seed := sha256.Sum256([]byte(fmt.Sprintf("castalia load %d %d", s.seed, i)))
		signer, err := did.SignerFromSeed(seed[:])
		if err != nil {
			return nil, err
		}
		w.people = append(w.people, &person{name: strconv.Itoa(i), signer: signer, audience: w.audience})
	}
	return w, nil
}

// request is one HTTP request in the making.
type request struct {
	method, path string
	node         int
	body         []byte
	media        string
	match        string  // If-Match
	oracle       *person // whose oracle token goes with it
	files        *person // whose file token does
}

func (w *world) url(node int) string { return w.urls[node%len(w.urls)] }

// open sends the request; the caller closes the body.
func (w *world) open(ctx context.Context, q request) (*http.Response, error) {
	if q.method == "" {
		q.method = http.MethodGet
	}
	r, err := http.NewRequestWithContext(ctx, q.method, w.url(q.node)+q.path, bytes.NewReader(q.body))
	if err != nil {
		return nil, err
	}
	if q.body != nil {
		r.Header.Set("Content-Type", q.media)
	}
	if q.match != "" {
		r.Header.Set("If-Match", q.match)
	}
	if who := cmpOr(q.oracle, q.files); who != nil {
		oracle, files, err := who.tokens()
		if err != nil {
			return nil, err
		}
		if q.oracle != nil {
			r.Header.Set("Authorization", "Bearer "+oracle)
			r.Header.Set("X-Auth-Type", "ucan")
		} else {
			r.Header.Set("Authorization", "Bearer "+files)
		}
	}
	return w.client.Do(r)
}

func cmpOr(a, b *person) *person {
	if a != nil {
		return a
	}
	return b
}

// get sends the request, wants a success and decodes it as JSON where asked.
func (w *world) get(ctx context.Context, q request, into any) ([]byte, error) {
	res, err := w.open(ctx, q)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return body, wrong("status "+strconv.Itoa(res.StatusCode), "%s %s: %.300s", q.method, q.path, body)
	}
	if into != nil {
		if err := json.Unmarshal(body, into); err != nil {
			return body, wrong("not JSON", "%s: %v", q.path, err)
		}
	}
	return body, nil
}

// prepare gives everybody a session, fills the stores to the size that was asked
// for, and opens the pages that stay.
func (w *world) prepare(ctx context.Context, on *place, say func(string, ...any)) error {
	w.rec = newRecorder(time.Now())
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(preloaders)
	for _, p := range w.people {
		g.Go(func() (err error) {
			p.home, err = w.createSession(gctx, 0, p)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := w.fill(ctx, say); err != nil {
		return err
	}
	if w.s.records > 0 {
		// What is indexed already need not be indexed in each copy.
		if err := on.settle(ctx, say); err != nil {
			return fmt.Errorf("before copies are made: %w", err)
		}
		if err := on.multiply(ctx, len(w.people), w.s.records, say); err != nil {
			return fmt.Errorf("multiply: %w", err)
		}
	}
	if w.s.preload > 0 {
		if err := w.renew(ctx, on, say); err != nil {
			return err
		}
	}
	if w.s.records > 0 {
		if err := on.settle(ctx, say); err != nil {
			return err
		}
		if err := w.takeStock(ctx, on, say); err != nil {
			return err
		}
	}
	if w.hole != nil {
		if err := w.hole.publish(ctx, w); err != nil {
			return fmt.Errorf("publish the menu of the black hole: %w", err)
		}
	}
	for i := range w.s.idle {
		p := w.people[i%len(w.people)]
		pg, err := w.openPage(ctx, i, p, p.home)
		if err != nil {
			return fmt.Errorf("open page %d: %w", i, err)
		}
		w.pages = append(w.pages, pg)
		go pg.drain()
	}
	return nil
}

// drive lets people come as planned and waits until the last has left.
func (w *world) drive(ctx context.Context) {
	start := time.Now()
	w.rec = newRecorder(start.Add(w.s.warmup))
	var wait sync.WaitGroup
	wait.Go(func() { w.fall(ctx, start) })
	var under atomic.Int64
	timer := time.NewTimer(0)
	defer timer.Stop()
	for a := range plan(w.s.rate, w.s.warmup+w.s.duration, w.s.mix, w.s.seed) {
		at := start.Add(a.at)
		timer.Reset(time.Until(at))
		select {
		case <-timer.C:
		case <-ctx.Done():
			wait.Wait()
			return
		}
		w.rec.late(time.Since(at))
		if under.Load() >= mostAtOnce {
			w.rec.skip()
			continue
		}
		under.Add(1)
		w.begun.Add(1)
		wait.Go(func() {
			defer under.Add(-1)
			w.walk(ctx, a, at)
		})
	}
	wait.Wait()
}

// remember keeps a stored file for downloads.
func (w *world) remember(f storedFile) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stored = append(w.stored, f)
}

func (w *world) anyFile(r *rand.Rand) storedFile {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stored[r.IntN(len(w.stored))]
}

// reconcile compares what the deployment holds with what it acknowledged.
func (w *world) reconcile(ctx context.Context) []string {
	var mu sync.Mutex
	var found []string
	note := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		if text != "" && len(found) < 20 {
			found = append(found, text)
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(preloaders)
	for i, p := range w.people {
		g.Go(func() error {
			var sessions struct{ Total int64 }
			if _, err := w.get(ctx, request{path: "/sessions?limit=1", node: i, oracle: p}, &sessions); err != nil {
				return err
			}
			note(p.sessions.differs("sessions of person "+p.name, sessions.Total))
			var files struct{ Files int64 }
			if _, err := w.get(ctx, request{path: "/api/fs/usage", node: i, files: p}, &files); err != nil {
				return err
			}
			note(p.uploads.differs("files of person "+p.name, files.Files))
			return nil
		})
	}
	g.Go(func() error {
		var calls struct{ Total int64 } // the list itself ends after some thousand
		if _, err := w.get(ctx, request{path: "/api/ussd/sessions"}, &calls); err != nil {
			return err
		}
		note(w.calls.differs("telephone sessions", calls.Total))
		return nil
	})
	if err := g.Wait(); err != nil {
		note(err.Error())
	}
	return found
}
