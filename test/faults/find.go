//go:build linux

package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/castalia-org/castalia/internal/protocol/sse"
	"github.com/castalia-org/castalia/plugin"
)

// finder looks at what is there. What it cannot see becomes a problem of the
// evidence.
type finder struct {
	*crowd
	ctx     context.Context
	e       Evidence
	records records
	node    int
}

// find waits until nothing is under way and returns all evidence.
func (c *crowd) find(ctx context.Context) Evidence {
	f := &finder{crowd: c, ctx: ctx}
	c.book.write(func(e *Evidence) { f.e = *e })
	f.must("wait for runs to end", f.settle())
	for _, one := range c.clients {
		switch one := one.(type) {
		case *writer:
			f.files(one.who)
		case *uploader:
			f.files(one.who)
		case *editor:
			f.files(one.who)
		case *rival:
			if one.label == "one" {
				f.files(one.who)
			}
		case *chatter:
			f.talk(one)
		case *page:
			if one.chat != nil {
				f.talk(one.chat)
			}
		case *tidier:
			f.things(one)
		case *lender:
			f.loans(one)
		case *rememberer:
			f.memories(one.who)
			f.balance(one.who)
		}
	}
	f.doctor()
	return f.e
}

func (f *finder) must(what string, err error) {
	if err != nil {
		f.e.Problems = append(f.e.Problems, fmt.Sprintf("%s: %v", what, err))
	}
}

// get asks one node after the other, so that every node is heard.
func (f *finder) get(path string, header http.Header) (reply, error) {
	var r reply
	var err error
	for range 5 {
		f.node++
		if r, _, err = f.world.ask(f.ctx, f.node, http.MethodGet, path, header, http.NoBody); err == nil {
			return r, nil
		}
		f.world.Tell("checker: GET %s at node %d: %v", path, f.node%fleetSize, err)
		pause(f.ctx, 200*time.Millisecond)
	}
	return r, fmt.Errorf("GET %s: %w", path, err)
}

func (f *finder) json(path string, header http.Header, into any) bool {
	r, err := f.get(path, header)
	if err == nil {
		err = json.Unmarshal(r.body, into)
	}
	f.must(path, err)
	return err == nil
}

// settle waits until every run has ended, and takes the records then.
func (f *finder) settle() (err error) {
	for until := time.Now().Add(patience); time.Now().Before(until); pause(f.ctx, 200*time.Millisecond) {
		if f.records, err = f.world.records(f.ctx); err != nil || f.records.Live == 0 {
			break // those that are left in the end are violations
		}
	}
	f.e.Runs = f.records.Runs
	for i := range f.e.Accounts {
		a := &f.e.Accounts[i]
		var known attempts
		known, a.There = f.records.Accounts[a.ID]
		a.Failures, a.Locked = known.Failures, known.Until > time.Now().UnixMilli()
	}
	return err
}

// records reads the database; that of a node that is alone by a child on the stage.
func (w *World) records(ctx context.Context) (r records, err error) {
	if !w.alone {
		return readRecords(ctx, w.socketURL)
	}
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	text, err := w.command(ctx, self, append(os.Environ(), readerChild+"="+w.socketURL))
	if err != nil {
		return r, fmt.Errorf("%w: %s", err, text)
	}
	return r, json.Unmarshal([]byte(text), &r)
}

// given is what comes when somebody downloads something.
func (f *finder) given(path string, who *person) string {
	r, err := f.get(path, who.files())
	if err != nil {
		return "nothing: " + err.Error()
	}
	return cidOf(r.body)
}

// files lists a person's files, with every version, and downloads them all.
func (f *finder) files(who *person) {
	var list struct {
		Files []struct{ ID, Path string }
		Total int
	}
	if !f.json("/api/fs/files?limit=1000", who.files(), &list) {
		return
	}
	for _, file := range list.Files {
		var history struct {
			Versions []struct {
				Version int64
				CID     string
			}
		}
		base := "/api/fs/files/" + url.PathEscape(file.ID) + "/versions"
		if !f.json(base+"?limit=1000", who.files(), &history) {
			continue
		}
		found := File{Path: who.actor.DID + file.Path}
		for _, v := range history.Versions {
			found.Versions = append(found.Versions, Version{v.CID, f.given(fmt.Sprintf("%s/%d/content", base, v.Version), who)})
		}
		f.e.Files = append(f.e.Files, found)
	}
}

// talk reads a session: its transcript and the log of every run in it.
func (f *finder) talk(c *chatter) {
	if c.session == "" {
		return
	}
	talk := Talk{Session: c.session}
	var list struct{ Messages []Message }
	if f.json("/messages/"+c.session, c.who.oracle(), &list) {
		talk.Messages = list.Messages
	}
	f.e.Talks = append(f.e.Talks, talk)
	for i := range f.e.Runs {
		r := &f.e.Runs[i]
		if r.Session != c.session || strings.Contains(finishedWaiting, r.Status) {
			continue // a live one would never end
		}
		answer, err := f.get("/runs/"+r.ID+"?after=0", c.who.oracle())
		f.must("run "+r.ID, err)
		decoder := sse.NewDecoder(bytes.NewReader(answer.body), 0)
		for err == nil {
			var frame Frame
			if frame, err = (&line{decoder: decoder, alive: time.NewTimer(silence)}).next(); err == nil {
				r.Frames = append(r.Frames, frame)
			}
		}
	}
	f.balance(c.who)
}

// standing is what somebody is told of their credits.
type standing struct {
	Granted, Available, Held, Spent, Owed int64
}

// balance compares what somebody is told with the entries in the database. A run
// is settled a moment after it ended, between the two readings too: they are one
// picture when the same is told before and after the entries were read.
func (f *finder) balance(who *person) {
	var told, again standing
	if !f.json("/credits", who.oracle(), &told) {
		return
	}
	for until := time.Now().Add(patience); time.Now().Before(until); told = again {
		var err error
		if f.records, err = f.world.records(f.ctx); err != nil {
			f.must("read the entries", err)
			return
		}
		if !f.json("/credits", who.oracle(), &again) {
			return
		}
		if again == told {
			break // one that never rests does not add up, and is a violation
		}
	}
	user := plugin.UserKey(who.actor.DID)
	sum := f.records.Ledger[user]
	f.e.Ledger = append(f.e.Ledger, Balance{
		DID: who.actor.DID, Granted: told.Granted, Available: told.Available, Held: told.Held, Spent: told.Spent,
		Owed:           told.Owed,
		EntriesGranted: sum.Granted, EntriesSpent: sum.Spent, Holds: f.records.ending(user),
		Uses: sum.Uses, Settled: f.records.settled(who.actor.DID, user),
	})
}

func (f *finder) memories(who *person) {
	var list struct{ Memories []struct{ Text string } }
	if !f.json("/memory", who.oracle(), &list) {
		return
	}
	f.e.Kept = map[string][]string{}
	for _, m := range list.Memories {
		f.e.Kept[who.actor.DID] = append(f.e.Kept[who.actor.DID], m.Text)
	}
}

func (f *finder) doctor() {
	if f.world.alone { // at rest, so that what it says can be compared
		f.must("stop the node", f.world.nodes[0].end(syscall.SIGTERM))
	}
	text, err := f.world.doctor(f.ctx)
	if err != nil {
		f.e.Doctor = fmt.Sprintf("%v\n%s", err, text)
	}
}

// doctor examines the stores.
func (w *World) doctor(ctx context.Context) (string, error) {
	env := append(w.env(), "LOG_LEVEL=error")
	if !w.alone {
		env = append(env, "CASTALIA_DATA="+filepath.Join(w.dir, "doctor"))
	}
	return w.command(ctx, w.binary[0], env, "doctor", "--deep")
}
