package ussd

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdcount"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdnumber"
)

// hop is the work on one request, from what is known of the session to the
// answer.
type hop struct {
	svc        *Service
	req        *Request
	id         string
	now        time.Time
	cur        *Session // what is stored, as far as is known; never changed
	remembered bool     // cur is what this node saw last; others may have gone on
	next       *Session // what will be stored
	menu       *ussdmenu.Menu
	// standing are the facts that hold for every session now.
	standing ussdmenu.Facts

	effects []Effect
	// secret is what was typed in this hop, for the action that follows.
	secret, secretVar string
	claimed           bool
	proved            bool // a code was given in this hop
	// guessed is the wrong PIN that the hop answers, locks says that it is the
	// last one before a lock.
	guessed *guess
	locks   bool
	// newPhone says that the hop stores something about the telephone.
	newPhone bool

	answer Answer
	screen string
	result string
}

// How a request relates to the session.
type reading uint8

const (
	readSame  reading = iota // a retransmission: replay
	readOver                 // the session has ended
	readStart                // a new session
	readInput                // a new input
)

// run answers the request. done is false when another node works on the same
// hop and its answer must be awaited.
func (h *hop) run(ctx context.Context) (done bool, err error) {
	c := h.cur
	switch {
	case c == nil:
		return true, h.begin(ctx, nil)
	case !c.alive(h.now, h.svc.cfg.TTL):
		return true, h.begin(ctx, &Prior{Rev: c.Rev, Hop: c.Hop})
	case c.Phone != h.req.Phone && c.Status == Done:
		return true, h.begin(ctx, &Prior{Rev: c.Rev, Hop: c.Hop}) // nobody's any more
	case c.Phone != h.req.Phone:
		return true, &InvalidError{"phoneNumber", "must be the one that began the session"}
	}
	input, how := h.read()
	if h.remembered && (how == readSame || how == readOver) {
		// Nothing is committed, so nothing would tell that another node has gone
		// on, or has begun anew under the same id: ask the store.
		return true, ErrStale
	}
	switch how {
	case readSame:
		h.answer, h.screen, h.result = Answer{Text: c.Answer, End: c.Status == Done}, c.screen(), ResultReplayed
		return true, nil
	case readOver:
		h.over(ctx)
		return true, nil
	case readStart:
		return true, h.begin(ctx, &Prior{Rev: c.Rev, Hop: c.Hop})
	case readInput:
	}
	if c.Claimed > 0 && (h.req.guessed == nil || h.req.guessed.prior != (Prior{Rev: c.Rev, Hop: c.Hop})) {
		return false, nil
	}
	return true, h.move(ctx, input)
}

// pause waits a little for the node that works on the hop.
func (h *hop) pause(ctx context.Context) error {
	t := time.NewTimer(40 * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the answer of another node: %w", ctx.Err())
	}
}

// echo is how soon after an answer an equal input without a number must be a
// repeated delivery: nobody reads a screen and types in less. One that came
// before the answer is a repeated delivery too, however long that took.
const echo = 700 * time.Millisecond

// read finds the new input in the request.
func (h *hop) read() (string, reading) {
	c, keys, text := h.cur, h.svc.cfg.Keys, h.req.Text
	if h.req.Newest {
		return h.readNewest()
	}
	switch {
	case len(text) == c.TextLen && keys.Matches(c.TextMAC, "text", h.id, text):
		return "", readSame
	case text == "" && h.outrun():
		return "", readSame
	case text == "":
		return "", readStart
	case c.Status == Done:
		return "", readOver
	case c.TextLen == 0 && keys.Matches(c.TextMAC, "text", h.id, ""):
		return text, readInput
	case len(text) > c.TextLen && text[c.TextLen] == '*' && keys.Matches(c.TextMAC, "text", h.id, text[:c.TextLen]):
		return text[c.TextLen+1:], readInput
	}
	// Delivered late, or from somebody who knows the id and the number and not
	// what was typed: show where the session is.
	return "", readSame
}

// outrun reports that the session began after this request came: it is a dial
// that was repeated at another node, which was quicker.
func (h *hop) outrun() bool { return h.req.arrived.Before(h.cur.Created) }

func (h *hop) readNewest() (string, reading) {
	c, text, seq := h.cur, h.req.Text, h.req.Sequence
	again := (h.req.met || h.now.Sub(c.Updated) < echo) && h.svc.cfg.Keys.Matches(c.TextMAC, "input", h.id, text)
	switch {
	case h.req.Start && c.Hop == 1 && (again || seq > 0 && seq == c.TextLen):
		return "", readSame
	case h.req.Start && c.Status == Active && seq > 0 && seq < c.TextLen:
		return "", readSame // delivered late: the session is further by now
	case h.req.Start && h.outrun():
		return "", readSame
	case h.req.Start:
		return "", readStart
	case seq > 0 && seq <= c.TextLen, seq == 0 && again:
		return "", readSame
	case c.Status == Done:
		return "", readOver
	case h.req.numberless() && h.req.lost != nil && *h.req.lost != (Prior{Rev: c.Rev, Hop: c.Hop}):
		return "", readSame // another delivery was quicker, and the user may be further still
	}
	return text, readInput
}

// over answers an input after the end of the session.
func (h *hop) over(ctx context.Context) {
	m, err := h.svc.menus.Version(ctx, h.cur.Menu)
	if err != nil {
		m = h.svc.Menu()
	}
	st := ussdmenu.State{Screen: m.Exit(), Lang: m.Language(h.cur.State.Lang), Limit: h.cur.State.Limit}
	text, _ := m.Render(st, 0)
	h.answer, h.screen, h.result = Answer{Text: text, End: true}, st.Screen, ResultReplayed
}

// begin starts a session, and walks as far as the text leads without a secret
// and without a side effect.
func (h *hop) begin(ctx context.Context, prior *Prior) error {
	m, err := h.svc.menus.Now(ctx, h.req.ServiceCode, h.now)
	if err != nil {
		return err
	}
	n := &Session{
		//nolint:gosec // tells incarnations apart, no secret
		ID: h.id, Rev: rand.Int64(), Phone: h.req.Phone, ServiceCode: ussdnumber.KeptCode(h.req.ServiceCode),
		Dialect: h.req.Dialect, Menu: m.Version(), Created: h.now,
	}
	h.menu, h.next = m, n
	lang := ""
	if h.svc.phones.Maybe(h.req.Phone) {
		info, err := h.svc.store.Phone(ctx, h.req.Phone)
		if err != nil {
			return fmt.Errorf("look up telephone: %w", err)
		}
		lang = info.Language
	}
	n.State = m.Begin(lang)
	n.State.Limit = h.svc.cfg.Limits.Of(h.req.Dialect, h.req.ServiceCode)
	n.drop(Crumb{At: h.now.UnixMilli(), Screen: n.screen()})
	text := h.req.Text
	if h.req.Newest && !h.req.Start {
		text = "" // an input of a session that is lost means nothing here
	}
	if text == "" {
		if screen := m.LanguageScreen(); h.svc.cfg.LanguageFirst && lang == "" && screen != "" {
			n.State.Screen = screen
		}
		if err := h.offer(ctx); err != nil {
			return err
		}
	} else {
		if err := h.knowPhone(ctx); err != nil {
			return err
		}
		h.walk(text)
	}
	if err := h.finish(ctx, prior); err != nil {
		return err
	}
	h.svc.tally.Add(ussdcount.Count{Menu: n.Dialect, Kind: ussdcount.CountBegun})
	return nil
}

// knowPhone finds out whose telephone it is when a screen comes up that asks: an
// account may have been made a moment ago, at another node.
func (h *hop) knowPhone(ctx context.Context) error {
	info, err := h.svc.store.Phone(ctx, h.req.Phone)
	if err != nil {
		return fmt.Errorf("look up telephone: %w", err)
	}
	h.next.Memory.PhoneAccount = info.Account
	h.next.Memory.Facts &^= ussdmenu.HasAccount | ussdmenu.Several
	switch {
	case info.Account != "":
		h.next.Memory.Facts |= ussdmenu.HasAccount
	case info.Accounts > 1:
		h.next.Memory.Facts |= ussdmenu.Several
	}
	return nil
}

// offer asks whether to continue the telephone's last session, when there is
// one worth continuing.
func (h *hop) offer(ctx context.Context) error {
	screen := h.menu.ResumeScreen()
	if h.svc.cfg.ResumeWindow <= 0 || screen == "" {
		return nil
	}
	last, err := h.svc.store.LastOfPhone(ctx, h.req.Phone, ussdnumber.KeptCode(h.req.ServiceCode),
		h.now.Add(-h.svc.cfg.ResumeWindow))
	if errors.Is(err, ErrNoSession) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for an earlier session: %w", err)
	}
	m, err := h.svc.menus.Version(ctx, last.Menu)
	if errors.Is(err, ErrNoMenu) {
		return nil
	}
	if err != nil {
		return err
	}
	switch {
	case last.ID == h.id, last.screen() == m.Start(), last.screen() == m.LanguageScreen(), m.Ends(last.screen()):
		return nil
	case last.screen() != m.ResumeScreen():
		h.next.Memory.Saved = &Saved{Menu: last.Menu, State: last.State, Account: last.Account}
	case last.Memory.Saved == nil:
		return nil
	default: // cut off again, at the question itself
		h.next.Memory.Saved = last.Memory.Saved
	}
	h.next.State.Screen = screen
	return nil
}

// facts are what the menu's guards see.
func (h *hop) facts() ussdmenu.Facts { return h.standing | h.next.facts() }

// facts are what is true of the session itself.
func (s *Session) facts() ussdmenu.Facts {
	f := s.Memory.Facts
	if s.Account != "" {
		f |= ussdmenu.Authenticated
	}
	if s.Memory.Saved != nil {
		f |= ussdmenu.Resuming
	}
	if s.State.Vars[approvalVar] != "" {
		f |= ussdmenu.Approval
	}
	return f
}

// move takes a new input.
func (h *hop) move(ctx context.Context, input string) error {
	m, err := h.svc.menus.Version(ctx, h.cur.Menu)
	if errors.Is(err, ErrNoMenu) {
		return h.begin(ctx, &Prior{Rev: h.cur.Rev, Hop: h.cur.Hop})
	}
	if err != nil {
		return err
	}
	h.menu, h.next = m, h.cur.clone()
	from := h.next.screen()
	mv := m.Step(h.next.State, input, h.facts())
	h.secret, h.secretVar = mv.Secret, mv.SecretVar
	h.crumb(mv)
	for n := 0; mv.Call != ""; n++ {
		if n == ussdmenu.MaxActions {
			return fmt.Errorf("menu %s: actions do not come to an end at %q", m.Version(), mv.Call)
		}
		h.next.State = mv.State
		outcome, set, err := h.act(ctx, mv.Call)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Action(mv.Call), err)
		}
		mv = h.menu.Resolve(h.next.State, mv.Call, outcome, set, h.facts())
	}
	h.next.State = mv.State
	h.remember(mv)
	switch {
	case mv.Resume:
		if err := h.resume(ctx); err != nil {
			return err
		}
	case from == m.ResumeScreen() && h.next.screen() != from:
		h.next.Memory.Saved = nil
	}
	if mv.Rest != "" {
		h.next.Memory.Trail[len(h.next.Memory.Trail)-1].Screen = h.next.screen()
		h.walk(mv.Rest)
	}
	h.svc.tally.Add(ussdcount.Count{Menu: m.Version(), Kind: ussdcount.CountMove, From: from, To: h.next.screen()})
	return h.finish(ctx, &Prior{Rev: h.cur.Rev, Hop: h.cur.Hop})
}

// remember keeps a keyed hash of a secret for the hop that compares it, and
// forgets all of them once no secret is being asked for.
func (h *hop) remember(mv ussdmenu.Move) {
	mem := &h.next.Memory
	if !h.menu.Asks(h.next.screen()) {
		mem.Digests, mem.PINProved = nil, false
		if !h.proved && h.next.screen() != h.cur.screen() { // who turns its pages is still asked
			mem.Proof = nil
		}
		return
	}
	if h.secretVar != "" && mv.Read == ussdmenu.ReadSecret {
		mem.Digests = map[string][]byte{h.secretVar: h.svc.cfg.Keys.Digest("secret", h.id, h.secretVar, h.secret)}
	}
}

// resume puts the session where the earlier one was. A private place needs the
// PIN first.
func (h *hop) resume(ctx context.Context) error {
	saved := h.next.Memory.Saved
	if saved == nil {
		return nil
	}
	m, err := h.svc.menus.Version(ctx, saved.Menu)
	if err != nil && !errors.Is(err, ErrNoMenu) {
		return err
	}
	switch {
	case err != nil, saved.Account != "" && h.next.Account != "" && saved.Account != h.next.Account:
		h.next.Memory.Saved = nil // gone, or somebody else's
	case m.Private(saved.State.Screen) && h.next.Account == "":
		if m.LoginScreen() == "" {
			h.next.Memory.Saved = nil
			return nil
		}
		h.next.State = ussdmenu.State{
			Screen: m.LoginScreen(), Lang: saved.State.Lang, Limit: h.next.State.Limit,
			Vars: map[string]string{"account": saved.Account},
		}
		h.menu, h.next.Menu = m, saved.Menu
	default:
		limit := h.next.State.Limit
		h.next.State = saved.State
		h.next.State.Notice, h.next.State.Limit = "", limit // it may be another network
		h.menu, h.next.Menu = m, saved.Menu
		h.next.Memory.Saved = nil
	}
	return nil
}

// walk follows a text from where the session is.
func (h *hop) walk(text string) {
	st, moves := h.menu.Walk(h.next.State, text, h.facts())
	for _, mv := range moves {
		h.crumb(mv)
		h.next.Memory.Trail[len(h.next.Memory.Trail)-1].Screen = mv.State.Screen
	}
	h.next.State = st
}

// crumb notes an input in the history, masked: keys as they are, of free text
// only the length, of secrets nothing.
func (h *hop) crumb(mv ussdmenu.Move) {
	c := Crumb{At: h.now.UnixMilli()}
	switch mv.Read {
	case ussdmenu.ReadOption:
		c.Input = mv.Input
	case ussdmenu.ReadSecret:
		c.Input = "****"
	default:
		c.Input = "<" + strconv.Itoa(utf8.RuneCountInString(mv.Input)) + ">"
	}
	h.next.drop(c)
}

// finish renders the screen, stores the hop and answers.
func (h *hop) finish(ctx context.Context, prior *Prior) error {
	n := h.next
	if h.menu.Private(n.screen()) && n.Account == "" {
		limit := n.State.Limit
		n.State = h.menu.Begin(n.State.Lang) // never shown without a login
		n.State.Limit = limit
	}
	if h.menu.Consults(n.screen())&(ussdmenu.HasAccount|ussdmenu.Several) != 0 {
		if err := h.knowPhone(ctx); err != nil {
			return err
		}
	}
	text, end := h.menu.Render(n.State, h.facts())
	n.Answer, n.Status = text, Active
	if end {
		n.Status = Done
		n.Memory.Digests, n.Memory.Saved, n.Memory.Proof = nil, nil, nil
	}
	n.Updated = h.svc.cfg.Now() // the oracle may have thought for seconds
	n.Expires, n.Claimed = n.Updated.Add(h.svc.cfg.TTL), 0
	if h.req.Newest {
		n.TextLen, n.TextMAC = h.req.Sequence, h.svc.cfg.Keys.Digest("input", h.id, h.req.Text)
	} else {
		n.TextLen, n.TextMAC = len(h.req.Text), h.svc.cfg.Keys.Digest("text", h.id, h.req.Text)
	}
	n.Hop = 1
	if prior != nil {
		n.Hop = prior.Hop + 1
	}
	n.Memory.Trail[len(n.Memory.Trail)-1].Screen = n.screen()
	change := Change{Session: n, Prior: prior, Resumable: h.svc.cfg.ResumeWindow > 0, Effects: h.effects, Now: h.now}
	if err := h.svc.store.Commit(ctx, change); err != nil {
		return fmt.Errorf("store hop: %w", err)
	}
	h.svc.memory.Put(n.ID, n)
	if h.newPhone {
		h.svc.phones.Add(n.Phone)
	}
	if h.locks {
		h.svc.cfg.Observer.Locked()
	}
	h.svc.tally.Add(ussdcount.Count{Menu: n.Menu, Kind: ussdcount.CountShown, From: n.screen()})
	if end {
		h.svc.tally.Add(ussdcount.Count{Menu: n.Menu, Kind: ussdcount.CountEnded, From: n.screen()})
	}
	h.answer, h.screen, h.result = Answer{Text: text, End: end}, n.screen(), ResultMoved
	return nil
}
