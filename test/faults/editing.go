//go:build linux

package faults

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	mrand "math/rand/v2"
	"net/http"
	"strings"
)

// editor changes one word of a text again and again, and only in the version
// that it knows.
type editor struct {
	*crowd
	who *person

	files   int
	id      string // of the file
	cid     string // of the version that it knows
	text    string
	edition string // the word that changes
	edits   int
}

func (d *editor) name() string { return "editor" }

func (d *editor) path() string { return fmt.Sprintf("/text/%d.txt", d.files) }

func (d *editor) note(cid, before string, told Told) {
	d.book.write(func(e *Evidence) {
		e.Writes = append(e.Writes, Write{Path: d.who.actor.DID + d.path(), CID: cid, If: before, Told: told})
	})
}

func (d *editor) step(ctx context.Context) bool {
	if d.id == "" || d.edits >= 40 { // a namespace keeps 50 versions of a file
		return d.create(ctx)
	}
	// Random, so that a version says which try made it.
	will := "edition " + rand.Text() + ";"
	text := strings.Replace(d.text, d.edition, will, 1)
	next := cidOf([]byte(text))
	body, err := json.Marshal(map[string]string{"oldString": d.edition, "newString": will})
	if err != nil {
		panic(err) // a map of texts
	}
	header := d.who.files()
	header.Set("Content-Type", "application/json")
	header.Set("If-Match", `"`+d.cid+`"`)
	_, told, err := d.world.ask(ctx, mrand.IntN(fleetSize), http.MethodPatch, "/api/fs/files/"+d.id+"/edit", header,
		bytes.NewReader(body))
	d.told(d.name(), fmt.Sprintf("edits %s if %s to %s", d.path(), d.cid, next), told, err)
	d.note(next, d.cid, told)
	switch told {
	case Acknowledged:
		d.text, d.cid, d.edition = text, next, will
		d.edits++
	case Unknown:
		d.id = "" // nobody knows which text it is: begin a new file
	}
	return told == Acknowledged
}

// create begins a new file.
func (d *editor) create(ctx context.Context) bool {
	d.id = ""
	d.files++
	d.edits = 0
	d.edition = "edition " + rand.Text() + ";"
	d.text = d.edition + strings.Repeat("line\n", mrand.IntN(20_000))
	d.cid = cidOf([]byte(d.text))
	header := d.who.files()
	header.Set("Content-Type", "text/plain")
	r, told, err := d.world.ask(ctx, mrand.IntN(fleetSize), http.MethodPut, contentPath(d.path()), header,
		strings.NewReader(d.text))
	d.told(d.name(), "begins "+d.path()+" "+d.cid, told, err)
	d.note(d.cid, "", told)
	var made struct{ ID string }
	if told != Acknowledged || json.Unmarshal(r.body, &made) != nil {
		return false
	}
	d.id = made.ID
	return true
}
