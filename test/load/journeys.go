package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/protocol/sse"
)

// journey is one person's visit. Its first step is meant to start when the
// person comes; a later one when the last answer has been read and thought
// about, since people wait for what they have asked.
type journey struct {
	w    *world
	a    arrival
	r    *rand.Rand
	who  *person
	due  time.Time
	node int
}

// walk makes the journey of an arrival. What goes wrong is recorded, and ends it.
func (w *world) walk(ctx context.Context, a arrival, at time.Time) {
	r := a.rng()
	j := &journey{w: w, a: a, r: r, who: w.people[r.IntN(len(w.people))], due: at, node: a.n}
	switch a.kind {
	case "ussd":
		j.call(ctx)
	case "chat":
		j.chat(ctx)
	case "upload":
		j.upload(ctx)
	case "download":
		j.download(ctx)
	case "query":
		j.query(ctx)
	case "socket":
		j.page(ctx)
	}
}

// step waits until the step is due, does it, and reports whether to go on. Every
// step goes to another node than the last.
func (j *journey) step(ctx context.Context, name string, do func(context.Context) error) bool {
	if !j.wait(ctx) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	name = j.w.hole.beside(name)
	err := do(ctx)
	j.w.rec.done(name, j.due, err)
	j.due = time.Now().Add(think)
	j.node++
	return err == nil
}

func (j *journey) wait(ctx context.Context) bool {
	t := time.NewTimer(time.Until(j.due))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// call walks a telephone through the menu and hangs up.
func (j *journey) call(ctx context.Context) {
	session, phone := fmt.Sprintf("load-%d-%d", j.w.s.seed, j.a.n), fmt.Sprintf("+2547%09d", j.a.n)
	for _, hop := range []struct{ name, text, want string }{
		{"ussd.dial", "", "CON Welcome"},
		{"ussd.input", "1", "CON What would you like to know?"},
		{"ussd.input", "1*2", "CON Reading menus"},
		{"ussd.end", "1*2**", "END Thank you"},
	} {
		ok := j.step(ctx, hop.name, func(ctx context.Context) error {
			return j.w.hop(ctx, j.node, "*2233#", session, phone, hop.text, hop.want)
		})
		if !ok {
			// Whether the session is there, or ended, nobody said.
			j.w.calls.unknown.Add(1)
			return
		}
	}
}

// hop sends one input and wants the answer to begin as it should.
func (w *world) hop(ctx context.Context, node int, code, session, phone, text, want string) error {
	body, err := json.Marshal(map[string]string{"sessionId": session, "serviceCode": code, "phoneNumber": phone, "text": text})
	if err != nil {
		return err
	}
	answer, err := w.get(ctx, request{method: http.MethodPost, path: "/api/ussd", node: node, body: body, media: "application/json"}, nil)
	if err == nil && !bytes.HasPrefix(answer, []byte(want)) {
		return wrong("wrong screen", "text %q: %.80q", text, answer)
	}
	return err
}

func questions() []string {
	return []string{"What is Castalia?", "How do I upload a file?", "What is a CID?", "How can I share a file?", "hello"}
}

func (w *world) createSession(ctx context.Context, node int, p *person) (string, error) {
	var made struct{ SessionID string }
	_, err := w.get(ctx, request{
		method: http.MethodPost, path: "/sessions", node: node, body: []byte("{}"), media: "application/json", oracle: p,
	}, &made)
	p.sessions.settle(err)
	if err == nil && made.SessionID == "" {
		err = wrong("no session id", "")
	}
	return made.SessionID, err
}

// say sends a message and wants one whole answer.
func (w *world) say(ctx context.Context, node int, p *person, session, text string) error {
	var answer struct {
		Message struct{ Type, Content string }
	}
	_, err := w.get(ctx, message(node, p, session, text, false), &answer)
	if err == nil && (answer.Message.Type != "ai" || answer.Message.Content == "") {
		return wrong("empty answer", "%+v", answer)
	}
	return err
}

func message(node int, p *person, session, text string, stream bool) request {
	body, _ := json.Marshal(map[string]any{"message": text, "stream": stream}) // a text and a bool always marshal
	return request{method: http.MethodPost, path: "/messages/" + session, node: node, body: body, media: "application/json", oracle: p}
}

// chat begins a session, asks, mostly as a stream, and reads the transcript.
func (j *journey) chat(ctx context.Context) {
	var session string
	text := questions()[j.r.IntN(len(questions()))]
	if !j.step(ctx, "chat.session", func(ctx context.Context) (err error) {
		session, err = j.w.createSession(ctx, j.node, j.who)
		return err
	}) {
		return
	}
	ok := false
	if j.r.IntN(4) == 0 {
		ok = j.step(ctx, "chat.reply", func(ctx context.Context) error { return j.w.say(ctx, j.node, j.who, session, text) })
	} else {
		ok = j.step(ctx, "chat.stream", func(ctx context.Context) error { return j.stream(ctx, session, text) })
	}
	if !ok {
		return
	}
	j.step(ctx, "chat.transcript", func(ctx context.Context) error {
		var list struct {
			Messages []struct{ Type, Content string }
		}
		if _, err := j.w.get(ctx, request{path: "/messages/" + session, node: j.node, oracle: j.who}, &list); err != nil {
			return err
		}
		if len(list.Messages) != 2 || list.Messages[0].Content != text || list.Messages[1].Content == "" {
			return wrong("wrong transcript", "%+v", list)
		}
		return nil
	})
}

// stream reads a streamed answer to its end and records its first frame too.
func (j *journey) stream(ctx context.Context, session, text string) error {
	res, err := j.w.open(ctx, message(j.node, j.who, session, text, true))
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(res.Body, 300))
		return wrong(fmt.Sprintf("status %d", res.StatusCode), "%s", said)
	}
	frames := sse.NewDecoder(res.Body, 0)
	for n := 0; ; n++ {
		e, err := frames.Next()
		if err != nil {
			return wrong("cut stream", "after %d frames: %v", n, err)
		}
		if n == 0 {
			j.w.rec.done(j.w.hole.beside(firstFrame), j.due, nil)
		}
		switch e.Name {
		case "error":
			return wrong("error frame", "%s", e.Data)
		case "done":
			if !strings.Contains(string(e.Data), `"finished"`) {
				return wrong("unfinished run", "%s", e.Data)
			}
			return nil
		}
	}
}

// content makes the bytes of a file from its seed.
func content(size int, seed uint64) []byte {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	data := make([]byte, size)
	_, _ = rand.NewChaCha8(key).Read(data) // never fails
	return data
}

// upload stores a file: mostly small, now and then a megabyte.
func (j *journey) upload(ctx context.Context) {
	size, name := 4<<10, "files.upload 4 KiB"
	switch n := j.r.IntN(20); {
	case n == 0:
		size, name = 1<<20, "files.upload 1 MiB"
	case n < 6:
		size, name = 64<<10, "files.upload 64 KiB"
	}
	path := fmt.Sprintf("/load/%d/%d-%d.bin", j.a.n%50, j.w.s.seed, j.a.n)
	j.step(ctx, name, func(ctx context.Context) error {
		return j.w.upload(ctx, j.node, j.who, path, size, j.a.seed)
	})
}

func (w *world) upload(ctx context.Context, node int, p *person, path string, size int, seed uint64) error {
	data := content(size, seed)
	sum := sha256.Sum256(data)
	var file struct {
		Size        int64
		ContentHash string
	}
	_, err := w.get(ctx, request{
		method: http.MethodPut, path: "/api/fs/content?path=" + url.QueryEscape(path), node: node,
		body: data, media: "application/octet-stream", files: p,
	}, &file)
	p.uploads.settle(err)
	if err != nil {
		return err
	}
	if file.Size != int64(size) || file.ContentHash != hex.EncodeToString(sum[:]) {
		return wrong("wrong hash", "%s: %+v", path, file)
	}
	w.remember(storedFile{owner: p, path: path, sum: sum})
	return nil
}

// download fetches a file that was acknowledged and checks every byte.
func (j *journey) download(ctx context.Context) {
	file := j.w.anyFile(j.r)
	j.step(ctx, "files.download", func(ctx context.Context) error {
		res, err := j.w.open(ctx, request{path: "/api/fs/content?path=" + url.QueryEscape(file.path), node: j.node, files: file.owner})
		if err != nil {
			return err
		}
		defer func() { _ = res.Body.Close() }()
		hash := sha256.New()
		if _, err := io.Copy(hash, res.Body); err != nil {
			return err
		}
		if res.StatusCode != http.StatusOK {
			return wrong(fmt.Sprintf("status %d", res.StatusCode), "%s", file.path)
		}
		if !bytes.Equal(hash.Sum(nil), file.sum[:]) {
			return wrong("wrong content", "%s", file.path)
		}
		return nil
	})
}

// query asks the chain: one claim of many, a list, or what never changes.
func (j *journey) query(ctx context.Context) {
	id := claimID(j.r.IntN(seedClaims))
	path, name, want := "/ixo/claims/claim/"+id, "query.claim", `"claim_id":"`+id+`"`
	switch n := j.r.IntN(10); {
	case n < 2:
		path, name, want = "/ixo/claims/claims?pagination.limit=100", "query.list of 100", `"claim_id":"`+id+`"`
	case n < 5:
		path, name, want = "/ixo/token/params", "query.params", `"params"`
	}
	j.step(ctx, name, func(ctx context.Context) error {
		body, err := j.w.get(ctx, request{path: path, node: j.node}, nil)
		if err == nil && !bytes.Contains(body, []byte(want)) {
			return wrong("wrong reply", "%s: %.200s", path, body)
		}
		return err
	})
}

// page opens a page on a session, pings, sends a message by another node and
// waits until the page hears of it.
func (j *journey) page(ctx context.Context) {
	var session string
	var pg *page
	ok := j.step(ctx, "chat.session", func(ctx context.Context) (err error) {
		session, err = j.w.createSession(ctx, j.node, j.who)
		return err
	}) && j.step(ctx, "socket.connect", func(ctx context.Context) (err error) {
		pg, err = j.w.openPage(ctx, j.node, j.who, session)
		return err
	})
	if !ok {
		return
	}
	defer pg.close()
	if !j.step(ctx, "socket.ping", func(ctx context.Context) error {
		if err := pg.emit("ping"); err != nil {
			return err
		}
		return pg.await(ctx, "pong")
	}) {
		return
	}
	j.step(ctx, "socket.event", func(ctx context.Context) error {
		said := make(chan error, 1)
		go func() { said <- j.w.say(ctx, j.node, j.who, session, "hello") }()
		heard := pg.await(ctx, "message_cache_invalidation")
		if err := <-said; err != nil {
			return err
		}
		return heard
	})
}
