//go:build linux

package faults

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	mrand "math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/protocol/cid"
)

// content is new bytes and their CID.
func content(size int) (data []byte, id string) {
	data = make([]byte, size)
	_, _ = rand.Read(data) // never fails
	return data, cidOf(data)
}

func cidOf(data []byte) string {
	c, _, err := cid.Sum(bytes.NewReader(data), cid.Options{})
	if err != nil {
		panic(err) // a buffer can be read
	}
	return c.String()
}

// someSize is below or above what is kept in the database itself.
func someSize() int { return []int{200, 5_000, 60_000, 1_300_000}[mrand.IntN(4)] + mrand.IntN(100) }

func contentPath(path string) string {
	return "/api/fs/content?keep=10000&path=" + url.QueryEscape(path)
}

// writer stores versions of files that only it writes.
type writer struct {
	*crowd
	who *person
	n   int
}

func (w *writer) name() string { return "writer" }

func (w *writer) step(ctx context.Context) bool {
	w.n++
	path := fmt.Sprintf("/own/%d", w.n%3)
	data, id := content(someSize())
	header := w.who.files()
	header.Set("Idempotency-Key", fmt.Sprintf("write %d", w.n))
	_, told, _ := w.repeat(ctx, w.name(), fmt.Sprintf("PUT %s %d bytes %s", path, len(data), id), func(node int) (reply, Told, error) {
		return w.world.ask(ctx, node, http.MethodPut, contentPath(path), header, bytes.NewReader(data))
	})
	w.book.write(func(e *Evidence) {
		e.Writes = append(e.Writes, Write{Path: w.who.actor.DID + path, CID: id, Told: told})
	})
	return told == Acknowledged
}

// rival reads a file and replaces it while somebody else does the same, and only
// the version that it has read.
type rival struct {
	*crowd
	who   *person
	label string
}

func (r *rival) name() string { return "rival " + r.label }

const rivalPath = "/shared"

func (r *rival) step(ctx context.Context) bool {
	seen, told, err := r.world.ask(ctx, mrand.IntN(fleetSize), http.MethodGet, contentPath(rivalPath), r.who.files(),
		http.NoBody)
	header := r.who.files()
	before := ""
	switch {
	case told == Acknowledged:
		header.Set("If-Match", seen.header.Get("Etag"))
		before = strings.Trim(seen.header.Get("Etag"), `"`)
		r.book.write(func(e *Evidence) {
			e.Reads = append(e.Reads, Read{Path: r.who.actor.DID + rivalPath, CID: before, Content: cidOf(seen.body)})
		})
	case seen.status == http.StatusNotFound:
		header.Set("If-None-Match", "*")
	default:
		r.told(r.name(), "looks", told, err)
		return false
	}
	data, id := content(someSize() % 70_000)
	_, told, err = r.world.ask(ctx, mrand.IntN(fleetSize), http.MethodPut, contentPath(rivalPath), header,
		bytes.NewReader(data))
	r.told(r.name(), fmt.Sprintf("PUT %s if %s %s", rivalPath, before, id), told, err)
	r.book.write(func(e *Evidence) {
		e.Writes = append(e.Writes, Write{Path: r.who.actor.DID + rivalPath, CID: id, If: before, Told: told})
	})
	return told == Acknowledged
}

// uploader sends a file in parts, each to another node, and goes on where the
// server says.
type uploader struct {
	*crowd
	who *person
	n   int
}

func (u *uploader) name() string { return "uploader" }

func (u *uploader) step(ctx context.Context) bool {
	u.n++
	path := fmt.Sprintf("/parts/%d", u.n)
	data, id := content(400_000 + mrand.IntN(900_000))
	told := u.upload(ctx, path, data)
	u.told(u.name(), fmt.Sprintf("uploads %s %d bytes %s", path, len(data), id), told, nil)
	u.book.write(func(e *Evidence) {
		e.Writes = append(e.Writes, Write{Path: u.who.actor.DID + path, CID: id, Told: told})
	})
	return told == Acknowledged
}

func (u *uploader) tus(ctx context.Context, method, path string, data []byte, pairs ...string) (reply, Told, error) {
	header := u.who.files()
	header.Set("Content-Type", "application/offset+octet-stream")
	header.Set("Tus-Resumable", "1.0.0")
	for i := 0; i+1 < len(pairs); i += 2 {
		header.Set(pairs[i], pairs[i+1])
	}
	return u.world.ask(ctx, mrand.IntN(fleetSize), method, path, header, bytes.NewReader(data))
}

func (u *uploader) upload(ctx context.Context, path string, data []byte) Told {
	base := base64.StdEncoding.EncodeToString
	r, told, err := u.tus(ctx, http.MethodPost, "/api/fs/upload", nil, "Upload-Length", strconv.Itoa(len(data)),
		"Upload-Metadata", "path "+base([]byte(path))+",overwrite "+base([]byte("true")))
	if told != Acknowledged {
		u.told(u.name(), "begins", told, err)
		return Refused // an upload without a part shows no version
	}
	location, err := url.Parse(r.header.Get("Location"))
	if err != nil {
		return Unknown
	}
	offset, part := 0, len(data)/3+1
	for failures := 0; failures < 60 && ctx.Err() == nil; {
		r, told, err := u.tus(ctx, http.MethodPatch, location.Path, data[offset:min(len(data), offset+part)], "Upload-Offset",
			strconv.Itoa(offset))
		if told != Acknowledged {
			u.told(u.name(), fmt.Sprintf("sends a part at %d", offset), told, err)
			failures++
			pause(ctx, 500*time.Millisecond)
			if r, told, err = u.tus(ctx, http.MethodHead, location.Path, nil); told != Acknowledged {
				u.told(u.name(), "asks how far it is", told, err)
				continue
			}
		}
		if r.header.Get("X-Vfs-File-Id") != "" {
			return Acknowledged
		}
		if at, err := strconv.Atoi(r.header.Get("Upload-Offset")); err == nil {
			offset = min(at, len(data))
		}
	}
	return Unknown
}

// rememberer asks the oracle to remember.
type rememberer struct {
	*crowd
	who *person
	n   int
}

func (m *rememberer) name() string { return "memory" }

func (m *rememberer) step(ctx context.Context) bool {
	if m.n == 0 && !m.who.provide(ctx, "memory", 100_000) {
		return false
	}
	m.n++
	text := fmt.Sprintf("thing %d is true", m.n)
	body, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		panic(err) // a map of texts
	}
	_, told, err := m.world.ask(ctx, mrand.IntN(fleetSize), http.MethodPost, "/memory", m.who.oracle(), bytes.NewReader(body))
	m.told(m.name(), "remembers "+text, told, err)
	m.book.write(func(e *Evidence) { e.Notes = append(e.Notes, Note{m.who.actor.DID, text, told}) })
	return told == Acknowledged
}
