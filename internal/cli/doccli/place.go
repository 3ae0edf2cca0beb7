package doccli

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/platform/operatordoc/operatordochttp"
)

// Records are the documents among a deployment's own records.
type Records struct {
	// Register adds the flags that say where they are.
	Register func(fs *flag.FlagSet)
	Open     func(ctx context.Context, use func(*operatordoc.Shelf) error) error
	// Author is who changes them.
	Author string
}

// shelf is what the commands need of documents, wherever these are.
type shelf interface {
	Documents(ctx context.Context) ([]operatordoc.State, error)
	Contents(ctx context.Context, name string) (operatordoc.Contents, error)
	StoredVersion(ctx context.Context, name string, number int64) (operatordoc.Version, error)
	History(ctx context.Context, name string, before int64, limit int) ([]operatordoc.Version, error)
	Store(ctx context.Context, name string, text []byte, c operatordoc.Change) (operatordoc.Version, error)
	Restore(ctx context.Context, name string, number int64, c operatordoc.Change) (operatordoc.Version, error)
	Remove(ctx context.Context, name string, c operatordoc.Change) (operatordoc.Version, error)
}

// place is where the documents of a call are: at a server that was named, else in records.
type place struct {
	desk *shell.Desk
	own  Records
}

func newPlace(fs *flag.FlagSet, s shell.IO, own Records) place {
	own.Register(fs)
	return place{shell.NewDesk(fs, s, "/operator/documents"), own}
}

func (p place) open(ctx context.Context, use func(shelf) error) error {
	if p.desk.Asks("server") {
		return use(remote{p.desk})
	}
	return p.own.Open(ctx, func(s *operatordoc.Shelf) error { return use(local{s}) })
}

type local struct{ *operatordoc.Shelf }

// Documents lists the documents.
func (l local) Documents(context.Context) ([]operatordoc.State, error) { return l.States(), nil }

// remote are the documents of a running server, which says itself who changes them.
type remote struct{ desk *shell.Desk }

func at(name string) string { return "/" + url.PathEscape(name) }

func versionAt(name string, number int64) string {
	return at(name) + "/versions/" + strconv.FormatInt(number, 10)
}

// Documents lists the documents.
func (r remote) Documents(ctx context.Context) ([]operatordoc.State, error) {
	var said operatordochttp.DocumentList
	if err := r.desk.Ask(ctx, http.MethodGet, "", nil, &said); err != nil {
		return nil, err
	}
	out := make([]operatordoc.State, len(said.Documents))
	for i, d := range said.Documents {
		out[i] = stateOf(d)
	}
	return out, nil
}

// Contents returns a document.
func (r remote) Contents(ctx context.Context, name string) (operatordoc.Contents, error) {
	var said operatordochttp.Document
	err := r.desk.Ask(ctx, http.MethodGet, at(name), nil, &said)
	return operatordoc.Contents{State: stateOf(said.DocumentState), Text: []byte(said.Text), Newest: said.Newest}, err
}

// StoredVersion returns a version with its text.
func (r remote) StoredVersion(ctx context.Context, name string, number int64) (operatordoc.Version, error) {
	var said operatordochttp.VersionText
	err := r.desk.Ask(ctx, http.MethodGet, versionAt(name, number), nil, &said)
	v := versionOf(name, said.Version)
	v.Text = []byte(said.Text)
	return v, err
}

// History lists versions, the newest first.
func (r remote) History(ctx context.Context, name string, before int64, limit int) ([]operatordoc.Version, error) {
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	if before > 0 {
		query.Set("before", strconv.FormatInt(before, 10))
	}
	var said operatordochttp.History
	if err := r.desk.Ask(ctx, http.MethodGet, at(name)+"/versions?"+query.Encode(), nil, &said); err != nil {
		return nil, err
	}
	out := make([]operatordoc.Version, len(said.Versions))
	for i, v := range said.Versions {
		out[i] = versionOf(name, v)
	}
	return out, nil
}

// Store stores a text as the newest version.
func (r remote) Store(ctx context.Context, name string, text []byte,
	c operatordoc.Change,
) (operatordoc.Version, error) {
	return r.change(ctx, http.MethodPut, name, at(name), operatordochttp.NewText{Text: string(text), Note: c.Note}, c)
}

// Restore stores an earlier version as the newest.
func (r remote) Restore(ctx context.Context, name string, number int64,
	c operatordoc.Change,
) (operatordoc.Version, error) {
	path := versionAt(name, number) + "/restore"
	return r.change(ctx, http.MethodPost, name, path, operatordochttp.Restoration{Note: c.Note}, c)
}

// Remove goes back to what the program has built in.
func (r remote) Remove(ctx context.Context, name string, c operatordoc.Change) (operatordoc.Version, error) {
	return r.change(ctx, http.MethodDelete, name, at(name), nil, c)
}

func (r remote) change(ctx context.Context, method, name, path string, body any,
	c operatordoc.Change,
) (v operatordoc.Version, err error) {
	resp, err := r.desk.Send(ctx, method, path, body, "If-Match", operatordochttp.ETag(c.After))
	if err != nil {
		return operatordoc.Version{}, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	var said operatordochttp.Version
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxDocument)).Decode(&said); err != nil {
		return operatordoc.Version{}, fmt.Errorf("read answer: %w", err)
	}
	return versionOf(name, said), nil
}

func stateOf(d operatordochttp.DocumentState) operatordoc.State {
	return operatordoc.State{
		Name: d.Name, Title: d.Title, Media: d.Media, Source: operatordoc.Source(d.Source), Where: d.Where,
		Number: d.Version, Author: d.Author, Digest: d.Digest, Problem: d.Problem,
	}
}

func versionOf(name string, v operatordochttp.Version) operatordoc.Version {
	written, _ := time.Parse(time.RFC3339, v.Written)
	return operatordoc.Version{
		Document: name, Number: v.Version, Author: v.Author, Note: v.Note, Written: written, Size: v.Size,
		Removed: v.Removed, Restores: v.Restores,
	}
}
