package teamchat

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/castalia-org/castalia/plugin"
)

// Link is a member of a team who speaks as somebody with a DID.
type Link struct {
	Team string `json:"team"`
	User string `json:"user"`
	// Name is what the team calls the user; empty when it is not known.
	Name string `json:"name,omitempty"`
	At   string `json:"at,omitempty"`

	DID string `json:"did,omitempty"`
}

// invitation is a one-time link that waits to be followed, with the question
// that brought it about.
type invitation struct {
	Link
	Expires int64  `json:"expires"`
	ID      string `json:"id"`
	Job     job    `json:"job"`
}

// codeFor is how long a one-time link works.
const codeFor = 15 * time.Minute

// Keys: l/team/user who somebody is, d/did/team/user the same by DID, o/code an
// open invitation, p/team/user the newest invitation of a user.

func linkKey(team, user string) string { return "l/" + team + "/" + user }

func didKey(did, team, user string) string {
	return "d/" + plugin.UserKey(did) + "/" + team + "/" + user
}

func codeKey(code string) string {
	sum := sha256.Sum256([]byte(code))
	return "o/" + base64.RawURLEncoding.EncodeToString(sum[:])
}

type getter interface {
	Get(ctx context.Context, key string) ([]byte, bool, error)
}

func load(ctx context.Context, from getter, key string, into any) (bool, error) {
	value, ok, err := from.Get(ctx, key)
	if err != nil || !ok {
		return false, err
	}
	if err := json.Unmarshal(value, into); err != nil {
		return false, fmt.Errorf("decode record: %w", err)
	}
	return true, nil
}

func put(ctx context.Context, tx plugin.Tx, key string, v any, ttl time.Duration) error {
	value, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return tx.Put(ctx, key, value, ttl)
}

// linked returns who a member of the team is.
func (p *Plugin) linked(ctx context.Context, team, user string) (Link, bool, error) {
	var l Link
	ok, err := load(ctx, p.store, linkKey(team, user), &l)
	return l, ok, err
}

// invite makes a one-time link for a member of the team; the former one no
// longer works.
func (p *Plugin) invite(ctx context.Context, id string, j job) (code string, err error) {
	code = rand.Text()
	name := j.Name
	if name == "" {
		name = p.api.nameOf(ctx, j.User)
	}
	err = p.store.Update(ctx, func(ctx context.Context, tx plugin.Tx) error {
		last := "p/" + j.Team + "/" + j.User
		if former, ok, err := tx.Get(ctx, last); err != nil {
			return err
		} else if ok {
			if err := tx.Delete(ctx, string(former)); err != nil {
				return err
			}
		}
		if err := tx.Put(ctx, last, []byte(codeKey(code)), codeFor); err != nil {
			return err
		}
		return put(ctx, tx, codeKey(code), invitation{
			Link: Link{Team: j.Team, User: j.User, Name: name}, Expires: tx.Now().Add(codeFor).UnixMilli(), ID: id, Job: j,
		}, codeFor)
	})
	return code, err
}

// follow uses a one-time link up: from now on its member of the team is did. The
// question that waited is put into the queue in the same transaction.
func (p *Plugin) follow(ctx context.Context, code, did string) (out Link, found bool, err error) {
	err = p.store.Update(ctx, func(ctx context.Context, tx plugin.Tx) error {
		var v invitation
		if found, err = load(ctx, tx, codeKey(code), &v); err != nil || !found {
			return err
		}
		if err := p.drop(ctx, tx, v.Team, v.User); err != nil { // he was somebody else before
			return err
		}
		v.DID, v.At = did, tx.Now().UTC().Format(time.RFC3339)
		out = v.Link
		for _, key := range []string{linkKey(v.Team, v.User), didKey(did, v.Team, v.User)} {
			if err := put(ctx, tx, key, v.Link, 0); err != nil {
				return err
			}
		}
		for _, key := range []string{codeKey(code), "p/" + v.Team + "/" + v.User} {
			if err := tx.Delete(ctx, key); err != nil {
				return err
			}
		}
		note := job{Team: v.Team, User: v.User, Notice: "You are linked: what you ask me here, you ask as `" + did +
			"`. If that was not you, write `unlink` to me at once."}
		if _, err := p.queue.Add(ctx, tx, "note-"+v.ID, note, 0); err != nil {
			return err
		}
		_, err := p.queue.Add(ctx, tx, "linked-"+v.ID, v.Job, 0)
		return err
	})
	p.nudge()
	return out, found, err
}

// unlink forgets who a member of the team is. With a DID it does so only if he
// is that.
func (p *Plugin) unlink(ctx context.Context, team, user, onlyDID string) (gone bool, err error) {
	err = p.store.Update(ctx, func(ctx context.Context, tx plugin.Tx) error {
		var l Link
		if gone, err = load(ctx, tx, linkKey(team, user), &l); err != nil || !gone {
			return err
		}
		if gone = onlyDID == "" || l.DID == onlyDID; !gone {
			return nil
		}
		return p.drop(ctx, tx, team, user)
	})
	return gone, err
}

func (*Plugin) drop(ctx context.Context, tx plugin.Tx, team, user string) error {
	var l Link
	if ok, err := load(ctx, tx, linkKey(team, user), &l); err != nil || !ok {
		return err
	}
	if err := tx.Delete(ctx, didKey(l.DID, team, user)); err != nil {
		return err
	}
	return tx.Delete(ctx, linkKey(team, user))
}
