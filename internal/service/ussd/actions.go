package ussd

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdaction"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdlist"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdquestion"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtext"
)

// claimTime is how long a hop with a slow hash is reserved. A node that dies
// meanwhile delays a retransmission by no more.
const claimTime = 3 * time.Second

// act runs the action of a call and returns its outcome and the variables that
// it sets. What it changes goes into the hop's effects.
func (h *hop) act(ctx context.Context, call string) (outcome string, set map[string]string, err error) {
	name := h.menu.Action(call)
	switch name {
	case ussdaction.CreateAccount:
		return h.createAccount(ctx)
	case ussdaction.VerifyPIN:
		return h.verifyPIN(ctx)
	case ussdaction.ChangePIN:
		return h.changePIN(ctx)
	case ussdaction.ListAccounts:
		return h.listAccounts(ctx)
	case ussdaction.ChooseAccount:
		return h.chooseAccount()
	case ussdaction.CheckResetCode:
		return h.checkResetCode(ctx)
	case ussdaction.ResetPIN:
		return h.resetPIN(ctx)
	case ussdaction.CheckLinkCode:
		return h.checkLinkCode(ctx)
	case ussdaction.LinkAccount:
		return h.linkAccount(ctx)
	case ussdaction.UnlinkAccount:
		return h.unlinkAccount()
	case ussdaction.CheckKeyCode:
		return h.checkKeyCode(ctx)
	case ussdaction.AskNewKey:
		return h.askNewKey(ctx)
	case ussdaction.LoadKeyRequest:
		return h.loadKeyRequest(ctx)
	case ussdaction.CancelKeyRequest:
		return h.cancelKeyRequest()
	case ussdaction.LoadProfile:
		return h.loadProfile(ctx)
	case ussdaction.SetLanguage:
		return h.setLanguage()
	case ussdaction.LogOut:
		h.next.Account = ""
		h.next.Memory.Facts &^= ussdmenu.AnswerWaiting
		h.next.State.Vars = nil
		return "ok", nil, nil
	case ussdaction.AskOracle:
		return h.askOracle(ctx)
	case ussdaction.TakeAnswer:
		return h.takeAnswer(ctx)
	case ussdaction.Decide:
		return h.decide(ctx)
	case ussdaction.LookUpEntity:
		return h.lookUpEntity(ctx)
	case ussdaction.AskDocuments:
		return h.askDocuments(ctx)
	case ussdaction.AskPeople:
		return h.askPeople(ctx)
	case ussdaction.StoreForm:
		return h.storeForm(call)
	case ussdaction.ReadList:
		return h.list(ctx, call, ussdlist.Ask.Read)
	case ussdaction.ChooseRow:
		return h.list(ctx, call, ussdlist.Ask.Choose)
	case ussdaction.CallWebhook:
		return h.callWebhook(ctx, call)
	}
	return "", nil, fmt.Errorf("unknown action %q", name)
}

// claim reserves the hop before anything slow happens, so that deliveries of
// the same input at other nodes wait for this answer. An action before this one
// may have done it.
func (h *hop) claim(ctx context.Context, d time.Duration) error {
	if h.claimed {
		return nil
	}
	_, err := h.reserve(ctx, Claim{For: d})
	return err
}

func (h *hop) reserve(ctx context.Context, c Claim) (ussdpin.Attempt, error) {
	h.now = h.svc.cfg.Now() // it may have waited for its turn
	c.ID, c.Prior, c.Now = h.id, Prior{Rev: h.cur.Rev, Hop: h.cur.Hop}, h.now
	attempt, err := h.svc.store.Claim(ctx, c)
	h.claimed = err == nil
	return attempt, err
}

// confirmed reports whether the PIN just typed is the one of the hop before.
func (h *hop) confirmed() bool {
	for name, digest := range h.cur.Memory.Digests {
		if name != h.secretVar && h.svc.cfg.Keys.Matches(digest, "secret", h.id, name, h.secret) {
			return true
		}
	}
	return false
}

// weak reports a PIN that is easy to guess for who knows the telephone number.
func (h *hop) weak() bool {
	return ussdpin.Weak(h.secret) || strings.Contains(h.req.Phone, h.secret)
}

func (h *hop) createAccount(ctx context.Context) (string, map[string]string, error) {
	switch {
	case !h.confirmed():
		return "mismatch", nil, nil
	case h.weak():
		return "weak", nil, nil
	}
	info, err := h.svc.store.Phone(ctx, h.req.Phone)
	if err != nil {
		return "", nil, fmt.Errorf("look up telephone: %w", err)
	}
	if info.Accounts >= h.svc.cfg.AccountsPerPhone {
		return "full", nil, nil
	}
	id := newAccountID()
	sealed, err := h.sealPIN(ctx, id)
	if err != nil {
		return "", nil, err
	}
	vars := h.next.State.Vars
	a := Account{
		ID: id, Phone: h.req.Phone, Name: vars["name"], Email: vars["email"], PIN: sealed,
		Language: h.next.State.Lang, Created: h.now, Updated: h.now,
	}
	h.effects = append(h.effects, CreateAccount{Account: a, Limit: h.svc.cfg.AccountsPerPhone})
	h.newPhone = true
	h.next.Account = a.ID
	return "ok", map[string]string{"account": a.ID, "name": a.Name}, nil
}

// sealPIN reserves the hop and makes the stored form of the PIN just typed.
func (h *hop) sealPIN(ctx context.Context, account string) ([]byte, error) {
	done, err := h.svc.vault.Turn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := h.claim(ctx, claimTime); err != nil {
		return nil, err
	}
	return h.svc.vault.Seal(ctx, account, h.secret)
}

func newAccountID() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	return "C" + strings.ToUpper(hex.EncodeToString(b[:]))
}

func (h *hop) logIn(ctx context.Context, a Account) (string, map[string]string, error) {
	h.next.Account = a.ID
	h.next.State.Lang = h.menu.Language(a.Language)
	h.next.Memory.Facts &^= ussdmenu.AnswerWaiting
	q, err := h.svc.store.Waiting(ctx, a.ID)
	switch {
	case err == nil && q.State != ussdquestion.Asked:
		// Given up is an answer too: somebody was promised one.
		h.next.Memory.Facts |= ussdmenu.AnswerWaiting
	case err != nil && !errors.Is(err, ErrNoSession):
		return "", nil, fmt.Errorf("look for answers: %w", err)
	}
	return "ok", map[string]string{"account": a.ID, "name": a.Name}, h.knowPerson(ctx)
}

// changePIN stores a new PIN, after the present one was given in this session,
// and ends the account's other sessions.
func (h *hop) changePIN(ctx context.Context) (string, map[string]string, error) {
	switch {
	case h.next.Account == "" || !h.cur.Memory.PINProved:
		return "denied", nil, nil
	case !h.confirmed():
		return "mismatch", nil, nil
	case h.weak():
		return "weak", nil, nil
	}
	sealed, err := h.sealPIN(ctx, h.next.Account)
	if err != nil {
		return "", nil, err
	}
	h.effects = append(h.effects,
		SetPIN{Account: h.next.Account, Sealed: sealed},
		EndSessions{Account: h.next.Account, Except: h.id})
	return "ok", nil, nil
}

func (h *hop) loadProfile(ctx context.Context) (string, map[string]string, error) {
	a, err := h.svc.store.Account(ctx, h.next.Account)
	if err != nil {
		return "", nil, fmt.Errorf("load account: %w", err)
	}
	email := a.Email
	if email == "" {
		email = "-"
	}
	return "ok", map[string]string{"account": a.ID, "name": a.Name, "email": email}, nil
}

func (h *hop) setLanguage() (string, map[string]string, error) {
	lang := h.menu.Language(h.next.State.Vars["language"])
	h.next.State.Lang = lang
	h.effects = append(h.effects, SetLanguage{Account: h.next.Account, Phone: h.req.Phone, Language: lang})
	h.newPhone = true
	return "ok", nil, nil
}

func (h *hop) lookUpEntity(ctx context.Context) (string, map[string]string, error) {
	if h.svc.cfg.LookUp == nil {
		return "failed", nil, nil
	}
	wait, cancel := context.WithTimeout(ctx, h.svc.cfg.OracleWait)
	defer cancel()
	text, err := h.svc.cfg.LookUp.LookUpEntity(wait, h.next.State.Vars["entity"])
	switch {
	case fault.Is(err, fault.NotFound), fault.Is(err, fault.Invalid):
		return "unknown", nil, nil
	case err != nil || text == "":
		return "failed", nil, nil
	}
	return "ok", map[string]string{"entity_info": ussdtext.Bounded(text, 600)}, nil
}

// askDocuments answers from documents; without an account, from those for everybody.
func (h *hop) askDocuments(ctx context.Context) (string, map[string]string, error) {
	if h.svc.cfg.Knowledge == nil {
		return "failed", nil, nil
	}
	wait, cancel := context.WithTimeout(ctx, h.svc.cfg.OracleWait)
	defer cancel()
	text, known, err := h.svc.cfg.Knowledge.AskDocuments(wait, h.next.Account, h.next.State.Vars["question"],
		h.next.State.Lang)
	text = ussdtext.Bounded(text, ussdquestion.MaxAnswer)
	switch {
	case err != nil || text == "":
		h.svc.cfg.Logger.WarnContext(ctx, "documents did not answer a telephone", slog.String("event", "ussd.documents_failed"), slog.Any("error", err))
		return "failed", nil, nil
	case !known:
		return "unknown", map[string]string{"answer": text}, nil
	}
	return "ok", map[string]string{"answer": text}, nil
}

// askPeople sends the question that no document answered to people, under the
// caller's name if the caller chose so. The answer waits for the next login.
func (h *hop) askPeople(ctx context.Context) (string, map[string]string, error) {
	if h.svc.cfg.Knowledge == nil || h.next.Account == "" {
		return "failed", nil, nil
	}
	// The hop's own name: a gateway that sends it again asks nothing twice.
	q := PeopleQuestion{
		ID: fmt.Sprint(h.next.ID, "/", h.next.Rev, "/", h.next.Hop), Account: h.next.Account,
		Text: h.next.State.Vars["question"], Language: h.next.State.Lang,
	}
	if h.next.State.Vars["show_name"] == "yes" {
		account, err := h.svc.store.Account(ctx, h.next.Account)
		if err != nil {
			return "", nil, fmt.Errorf("look for the caller's name: %w", err)
		}
		q.Name = account.Name
	}
	wait, cancel := context.WithTimeout(ctx, h.svc.cfg.OracleWait)
	defer cancel()
	if err := h.svc.cfg.Knowledge.AskPeople(wait, q); fault.Is(err, fault.Conflict) {
		return "busy", nil, nil
	} else if err != nil {
		h.svc.cfg.Logger.WarnContext(ctx, "a telephone's question did not reach people", slog.String("event", "ussd.question_failed"), slog.Any("error", err))
		return "failed", nil, nil
	}
	return "ok", nil, nil
}
