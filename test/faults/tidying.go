//go:build linux

package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	mrand "math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// tidier puts files in order: it stores one, moves it, throws it away, takes it
// out of the trash, and begins with the next. Nobody else touches its files.
type tidier struct {
	*crowd
	who *person

	n     int
	id    string // of the file at hand; empty: none
	thing Thing
	place string // where it is now; empty: in the trash
}

func (d *tidier) name() string { return "tidier" }

const changesPerThing = 5

func (d *tidier) step(ctx context.Context) bool {
	d.n++
	if d.id == "" {
		return d.begin(ctx)
	}
	c, method, path, body := d.next()
	header := d.who.files()
	header.Set("Content-Type", "application/json")
	header.Set("Idempotency-Key", fmt.Sprintf("tidy %d", d.n))
	_, c.Told, c.Status = d.repeat(ctx, d.name(), fmt.Sprintf("%s to %q", d.thing.Path, c.To),
		func(node int) (reply, Told, error) {
			return d.world.ask(ctx, node, method, path, header, strings.NewReader(body))
		})
	d.thing.Changes = append(d.thing.Changes, c)
	if c.Told == Acknowledged {
		d.place = c.To
	}
	if c.Told == Unknown || len(d.thing.Changes) == changesPerThing {
		d.finish()
	}
	return c.Told == Acknowledged
}

// next chooses what happens to the file at hand.
func (d *tidier) next() (c Change, method, path, body string) {
	to := fmt.Sprintf("/tidy/%d/at %d", mrand.IntN(3), d.n)
	switch {
	case d.place == "":
		return Change{To: to}, http.MethodPost, "/api/fs/files/" + d.id + "/restore?path=" + url.QueryEscape(to), ""
	case mrand.IntN(3) == 0:
		return Change{To: ""}, http.MethodDelete, "/api/fs/files/" + d.id, ""
	}
	move, err := json.Marshal(map[string]string{"from": d.place, "to": to})
	if err != nil {
		panic(err) // a map of texts
	}
	return Change{To: to}, http.MethodPost, "/api/fs/move", string(move)
}

// begin stores a new file.
func (d *tidier) begin(ctx context.Context) bool {
	data, id := content(someSize())
	d.thing = Thing{Owner: d.who.actor.DID, CID: id, Path: fmt.Sprintf("/tidy/new %d", d.n)}
	header := d.who.files()
	header.Set("Idempotency-Key", fmt.Sprintf("tidy %d", d.n))
	r, told, _ := d.repeat(ctx, d.name(), fmt.Sprintf("PUT %s %s", d.thing.Path, id), func(node int) (reply, Told, error) {
		return d.world.ask(ctx, node, http.MethodPut, contentPath(d.thing.Path), header, bytes.NewReader(data))
	})
	var made struct{ ID string }
	if told != Acknowledged || json.Unmarshal(r.body, &made) != nil {
		return false // the writer is there to watch what becomes of those
	}
	d.id, d.place = made.ID, d.thing.Path
	return true
}

// finish notes what the file at hand went through. What is at hand when everybody
// stops is noted by the finder.
func (d *tidier) finish() {
	if d.id == "" {
		return
	}
	d.book.write(func(e *Evidence) { e.Things = append(e.Things, d.thing) })
	d.id = ""
}

// repeat sends a request that has a key until somebody answers: the key makes
// sure that it counts once, however often it arrives.
func (c *crowd) repeat(ctx context.Context, who, what string,
	send func(node int) (reply, Told, error),
) (r reply, fate Told, status int) {
	fate = Refused
	for try := 0; try < 5 && ctx.Err() == nil; try++ {
		var told Told
		var err error
		r, told, err = send(mrand.IntN(fleetSize))
		c.told(who, what, told, err)
		switch {
		case told == Acknowledged:
			return r, told, r.status
		case told == Unknown:
			fate = Unknown
		case r.status != 0:
			status = r.status
		}
		pause(ctx, 200*time.Millisecond)
	}
	return r, fate, status
}

// things looks for what was put in order, in the folders and in the trash, and
// downloads what is not in the trash.
func (f *finder) things(d *tidier) {
	d.finish()
	f.e.Things = slices.Clone(d.book.Things)
	found := map[string][]Place{}
	type list struct {
		Files []struct{ ID, Path, CID string }
	}
	var kept, thrown list
	if !f.json("/api/fs/files?limit=1000", d.who.files(), &kept) || !f.json("/api/fs/trash?limit=1000", d.who.files(), &thrown) {
		return
	}
	for _, file := range kept.Files {
		found[file.CID] = append(found[file.CID], Place{file.Path, f.given("/api/fs/files/"+file.ID+"/content", d.who)})
	}
	for _, file := range thrown.Files {
		found[file.CID] = append(found[file.CID], Place{"", file.CID})
		r, told, _ := f.world.ask(f.ctx, f.node, http.MethodGet, "/api/fs/files/"+file.ID+"/content", d.who.files(), http.NoBody)
		if told == Acknowledged {
			f.e.Problems = append(f.e.Problems, fmt.Sprintf("%s is in the trash and is given: %d bytes", file.CID, len(r.body)))
		}
	}
	for i := range f.e.Things {
		f.e.Things[i].Found = found[f.e.Things[i].CID]
	}
}
