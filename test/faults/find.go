//go:build linux

package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/protocol/sse"
)

// finder looks at what is there. What it can not see becomes a problem of the
// evidence.
type finder struct {
	*crowd
	ctx  context.Context
	e    Evidence
	node int
}

// find waits until nothing is under way and returns all evidence.
func (c *crowd) find(ctx context.Context) Evidence {
	f := &finder{crowd: c, ctx: ctx}
	c.book.write(func(e *Evidence) { f.e = *e })
	f.must("wait for runs to end", f.settle())
	f.must("read the database", f.records())
	for _, one := range c.clients {
		switch one := one.(type) {
		case *writer:
			f.files(one.who)
		case *uploader:
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

// settle waits until every run has ended.
func (f *finder) settle() error {
	return f.database(func(db *sqldb.DB) error {
		live := 0
		for until := time.Now().Add(patience); time.Now().Before(until); pause(f.ctx, 200*time.Millisecond) {
			err := db.Read().QueryRowContext(f.ctx, `SELECT COUNT(*) FROM oracle_runs WHERE ended_ms = 0`).Scan(&live)
			if err != nil || live == 0 {
				return err
			}
		}
		return nil // those that are left are violations
	})
}

func (f *finder) database(fn func(db *sqldb.DB) error) error {
	db, err := openDatabase(f.ctx, f.world.socketURL)
	if err != nil {
		return err
	}
	return errors.Join(fn(db), db.Close())
}

// records reads what no route shows: attempts of PINs, and every run.
func (f *finder) records() error {
	return f.database(func(db *sqldb.DB) error {
		for i := range f.e.Accounts {
			a := &f.e.Accounts[i]
			var n int
			if err := db.Read().QueryRowContext(f.ctx, `SELECT COUNT(*) FROM ussd_accounts WHERE id = $1`, a.ID).Scan(&n); err != nil {
				return err
			}
			a.There = n == 1
			var until int64
			err := db.Read().QueryRowContext(f.ctx, `SELECT COALESCE(SUM(failures), 0), COALESCE(MAX(locked_until_ms), 0) FROM ussd_attempts WHERE subject = $1`, a.ID).Scan(&a.Failures, &until)
			if err != nil {
				return err
			}
			a.Locked = until > time.Now().UnixMilli()
		}
		rows, err := db.Read().QueryContext(f.ctx, `SELECT id, session_id, status FROM oracle_runs`)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var r Run
			if err := rows.Scan(&r.ID, &r.Session, &r.Status); err != nil {
				return err
			}
			f.e.Runs = append(f.e.Runs, r)
		}
		return rows.Err()
	})
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
			r, err := f.get(fmt.Sprintf("%s/%d/content", base, v.Version), who.files())
			content := "nothing: " + fmt.Sprint(err)
			if err == nil {
				sum, _, err := cid.Sum(bytes.NewReader(r.body), cid.Options{})
				f.must("hash", err)
				content = sum.String()
			}
			found.Versions = append(found.Versions, Version{v.CID, content})
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

func (f *finder) balance(who *person) {
	b := Balance{DID: who.actor.DID}
	var standing struct {
		Granted, Available, Held, Spent, Owed int64
	}
	if !f.json("/credits", who.oracle(), &standing) {
		return
	}
	b.Granted, b.Available, b.Held, b.Spent, b.Owed = standing.Granted, standing.Available, standing.Held, standing.Spent, standing.Owed
	f.must("read the ledger", f.database(func(db *sqldb.DB) error { return entries(f.ctx, db, who.actor.DID, &b) }))
	f.e.Ledger = append(f.e.Ledger, b)
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
	if f.world.alone { // the doctor needs the folder for itself
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
