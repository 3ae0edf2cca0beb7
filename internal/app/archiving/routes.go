package archiving

import (
	"context"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/castalia-org/castalia/internal/platform/backup"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// lookLimit bounds how long a place may take to say what it has.
const lookLimit = 10 * time.Second

// Backups is the body of GET /operator/backups.
type Backups struct {
	backup.Listing
	// Place is where they go; empty: nowhere, and BACKUP_URL is to be set.
	Place string `json:"place,omitempty"`
	// Recipients are for whom they are encrypted. None of them is a secret.
	Recipients []string `json:"recipients"`
	// Every and Keep are the schedule in force; empty is off.
	Every string `json:"every,omitempty"`
	Keep  int    `json:"keep,omitempty"`
	// Source says where the schedule comes from; ReadOnly that it changes with a restart.
	Source   string `json:"source"`
	ReadOnly bool   `json:"readOnly"`
	// Next is when the next one is due, by what is stored; one in the past is made within minutes.
	Next *time.Time `json:"next,omitempty"`
	// Jobs are the last things that were asked for, the newest first.
	Jobs []backup.Job `json:"jobs"`
	// Problem says why the place cannot be looked at.
	Problem string    `json:"problem,omitempty"`
	Replica Replica   `json:"replica"`
	At      time.Time `json:"at"`
}

// Replica is what the continuous copy does.
type Replica struct {
	// Place is where it goes; empty: there is none.
	Place string `json:"place,omitempty"`
	// LagSeconds is how much would be lost now.
	LagSeconds float64 `json:"lagSeconds"`
	Problem    string  `json:"problem,omitempty"`
}

// Trial is the body of POST /operator/backups/{name}/trial.
type Trial struct {
	// Problem is what was wrong; empty is nothing.
	Problem string `json:"problem"`
}

// maxTrial bounds what is kept of what was wrong.
const maxTrial = 500

// Surface returns the routes.
func (a *Archiving) Surface() httpserver.Surface {
	tags := []string{"Operators"}
	name := []httpserver.Param{{Name: "name", In: "path", Required: true, Doc: "Name of the backup, as the list has it."}}
	job := []httpserver.Reply{{Status: http.StatusAccepted, Body: backup.Job{}}}
	return httpserver.Surface{Name: "backups", Routes: []httpserver.Route{
		{
			Method: http.MethodGet, Pattern: "/operator/backups", Auth: httpserver.Operator, Tags: tags,
			Summary: "Backups", Doc: "What is stored at the place of backups, the newest first; what was asked for and how far it is; when the next one is due; and what the replica does. The schedule is the document `backups`.",
			Replies: []httpserver.Reply{{Status: http.StatusOK, Body: Backups{}}}, Handler: a.list,
		},
		{
			Method: http.MethodPost, Pattern: "/operator/backups", Auth: httpserver.Operator, Tags: tags,
			Summary: "Make a backup now", Doc: "It is made by one node, also when the one that was asked ends. If one is asked for already, that is answered.",
			Replies: job, Handler: a.make,
		},
		{
			Method: http.MethodPost, Pattern: "/operator/backups/{name}/check", Auth: httpserver.Operator, Tags: tags, Params: name,
			Summary: "Check a backup", Doc: "Reads the archive to its end and compares it with what was written: its length, its SHA-256, for how many keys it is encrypted. " +
				"The server has no key that opens it: `castalia backups check NAME --identity FILE` restores it for trial.",
			Replies: job, Handler: a.check,
		},
		{
			Method: http.MethodPost, Pattern: "/operator/backups/{name}/trial", Auth: httpserver.Operator, Tags: tags, Params: name,
			Summary: "Say how a trial restore went", Doc: "Writes down what whoever has the key found out.", Body: Trial{},
			Replies: []httpserver.Reply{{Status: http.StatusOK, Body: backup.Check{}}}, Handler: a.trial,
		},
		{
			Method: http.MethodGet, Pattern: "/operator/backups/{name}/archive", Auth: httpserver.Operator, Role: httpserver.Changer, Tags: tags, Params: name,
			Summary: "Get a backup", Doc: "The archive, encrypted as it is stored. Who gets one is in the audit trail.", Stream: true, Noted: true,
			Replies: []httpserver.Reply{{Status: http.StatusOK, Media: "application/octet-stream"}}, Handler: a.download,
		},
	}}
}

func (a *Archiving) list(w http.ResponseWriter, r *http.Request) error {
	s, state := a.deps.Settings, a.deps.Schedule.State()
	plan := a.deps.Schedule.Value()
	body := Backups{
		Listing: backup.Listing{Backups: []backup.Listed{}}, Recipients: a.recipients, Keep: plan.Keep,
		Source: string(state.Source), ReadOnly: state.ReadOnly(), At: time.Now().UTC(),
	}
	if plan.Every > 0 {
		body.Every = config.FormatDuration(plan.Every)
	}
	var err error
	if body.Jobs, err = a.Jobs(r.Context()); err != nil {
		return err
	}
	if a.Place != nil {
		body.Place = s.Backups.Place.String()
		ctx, cancel := context.WithTimeout(r.Context(), lookLimit)
		defer cancel()
		if body.Listing, err = a.Place.List(ctx); err != nil {
			body.Problem = err.Error()
		} else {
			body.Next = a.next(body.Backups, body.At)
		}
	}
	if ship := a.deps.Ship; ship != nil {
		body.Replica = Replica{Place: s.Storage.Replica.String(), LagSeconds: ship.Lag().Seconds(), Problem: ship.Trouble()}
	}
	return httpserver.WriteJSON(w, http.StatusOK, body)
}

func (a *Archiving) next(list []backup.Listed, now time.Time) *time.Time {
	var newest *backup.Backup
	if i := slices.IndexFunc(list, func(b backup.Listed) bool { return !b.Made.After(now) }); i >= 0 {
		newest = &list[i].Backup
	}
	at, planned := a.Next(newest)
	switch {
	case !planned:
		return nil
	case newest == nil:
		return &now
	}
	return &at
}

func (a *Archiving) make(w http.ResponseWriter, r *http.Request) error {
	job, err := a.Ask(r.Context(), httpserver.OperatorOf(r.Context()).Name)
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusAccepted, job)
}

func (a *Archiving) check(w http.ResponseWriter, r *http.Request) error {
	job, err := a.AskCheck(r.Context(), r.PathValue("name"), httpserver.OperatorOf(r.Context()).Name)
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusAccepted, job)
}

func (a *Archiving) trial(w http.ResponseWriter, r *http.Request) error {
	var body Trial
	if err := httpserver.ReadJSON(w, r, &body, httpserver.Strict); err != nil {
		return err
	}
	if len(body.Problem) > maxTrial {
		return fault.Newf(fault.Invalid, "problem: %d bytes, allowed are %d", len(body.Problem), maxTrial)
	}
	b, err := a.Find(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	found := backup.Check{
		Name: b.Name, At: time.Now().UTC(), By: httpserver.OperatorOf(r.Context()).Name, Restored: true,
		Problem: body.Problem,
	}
	if err := a.Place.Note(r.Context(), found); err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, found)
}

func (a *Archiving) download(w http.ResponseWriter, r *http.Request) error {
	if _, err := a.Find(r.Context(), r.PathValue("name")); err != nil {
		return err // also where there is no place
	}
	b, body, err := a.Place.Archive(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Length", strconv.FormatInt(b.Size, 10))
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": b.Name + ".tar.age"}))
	_, err = io.Copy(w, body)
	return err
}
