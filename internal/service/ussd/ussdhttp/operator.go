package ussdhttp

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdbook"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdcount"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdnumber"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
)

// DebugRecord is one session for operators. The telephone number and what the caller was
// told are in clear here and nowhere else, and here for nobody who may only look.
type DebugRecord struct {
	SessionID      string    `json:"sessionId"`
	DebugInfo      DebugInfo `json:"debugInfo"`
	ActiveSessions []string  `json:"activeSessions"`
}

// DebugInfo is where the session is.
type DebugInfo struct {
	State   string    `json:"state"`
	Context ussd.View `json:"context"`
	Status  string    `json:"status"`
}

// ActiveList names the active sessions. Count is the length of the list; Total
// is larger when there are more than the list holds.
type ActiveList struct {
	ActiveSessions []string `json:"activeSessions"`
	Count          int      `json:"count"`
	Total          int      `json:"total"`
}

const notFoundText = "Session not found"

func (a *api) debug(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("sessionId")
	ids, _, err := a.svc.Active(r.Context())
	if err != nil {
		return err
	}
	v, err := a.svc.Look(r.Context(), id)
	if errors.Is(err, ussd.ErrNoSession) {
		return httpserver.WriteJSON(w, http.StatusNotFound, map[string]any{
			"error": notFoundText, "sessionId": id,
			"debugInfo": map[string]string{"error": notFoundText}, "activeSessions": ids,
		})
	}
	if err != nil {
		return err
	}
	if httpserver.OperatorOf(r.Context()).AtLeast(httpserver.Changer) != nil {
		v = masked(v)
	}
	v.Timeline = nil
	v.SessionID = id
	return httpserver.WriteJSON(w, http.StatusOK, DebugRecord{
		SessionID: id, DebugInfo: DebugInfo{State: v.State, Context: v, Status: v.Status}, ActiveSessions: ids,
	})
}

func (a *api) sessions(w http.ResponseWriter, r *http.Request) error {
	ids, total, err := a.svc.Active(r.Context())
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, ActiveList{ActiveSessions: ids, Count: len(ids), Total: total})
}

// LiveList is the sessions that were used last.
type LiveList struct {
	Sessions []ussd.View `json:"sessions"`
	Total    int         `json:"total"`
}

func (a *api) live(w http.ResponseWriter, r *http.Request) error {
	limit, err := number(r, "limit", 50, 500)
	if err != nil {
		return err
	}
	views, err := a.svc.Live(r.Context(), limit)
	if err != nil {
		return err
	}
	_, total, err := a.svc.Active(r.Context())
	if err != nil {
		return err
	}
	for i, v := range views {
		views[i] = masked(v)
	}
	return httpserver.WriteJSON(w, http.StatusOK, LiveList{Sessions: views, Total: total})
}

// masked takes out what is the caller's own.
func masked(v ussd.View) ussd.View {
	v.Phone, v.Message = telemetry.MaskPhone(v.Phone), v.Masked
	if v.Account != "" {
		v.Account = "***"
	}
	return v
}

func (a *api) timeline(w http.ResponseWriter, r *http.Request) error {
	v, err := a.svc.Look(r.Context(), r.PathValue("sessionId"))
	if errors.Is(err, ussd.ErrNoSession) {
		return fault.New(fault.NotFound, notFoundText)
	}
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, masked(v))
}

// MenuList is the menus of new sessions.
type MenuList struct {
	Menus []ussdbook.Entry `json:"menus"`
}

func (a *api) menus(w http.ResponseWriter, _ *http.Request) error {
	return httpserver.WriteJSON(w, http.StatusOK, MenuList{Menus: a.svc.MenuEntries()})
}

// Funnel is how far sessions get.
type Funnel struct {
	Days  int                    `json:"days"`
	Steps []ussdcount.FunnelStep `json:"steps"`
}

func (a *api) funnel(w http.ResponseWriter, r *http.Request) error {
	days, err := number(r, "days", 7, maxDays)
	if err != nil {
		return err
	}
	code, err := codeOf(r)
	if err != nil {
		return err
	}
	steps, err := a.svc.Funnel(r.Context(), code, days)
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, Funnel{Days: days, Steps: steps})
}

// RefusalList is what gateways' requests were refused for.
type RefusalList struct {
	Days     int                 `json:"days"`
	Refusals []ussdcount.Refusal `json:"refusals"`
}

func (a *api) refusals(w http.ResponseWriter, r *http.Request) error {
	days, err := number(r, "days", 7, maxDays)
	if err != nil {
		return err
	}
	counts, err := a.svc.Counts(r.Context(), days)
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, RefusalList{Days: days, Refusals: ussdcount.Refusals(counts)})
}

func (a *api) graph(w http.ResponseWriter, r *http.Request) error {
	days, err := number(r, "days", 7, maxDays)
	if err != nil {
		return err
	}
	code, err := codeOf(r)
	if err != nil {
		return err
	}
	g, err := a.svc.GraphWithCounts(r.Context(), code, days)
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, g)
}

// codeOf is the service code whose menu is meant; none is that of all others.
func codeOf(r *http.Request) (string, error) {
	given := r.URL.Query().Get("code")
	if given == "" {
		return "", nil
	}
	code := ussdnumber.ServiceCode(given)
	if !ussdnumber.ValidServiceCode(code) {
		return "", fault.New(fault.Invalid, "code must be a service code, such as *384*7#")
	}
	return code, nil
}

// LockList is the accounts that are locked now, and the telephones that tried
// too many foreign ones.
type LockList struct {
	Locks []ussdpin.Lock `json:"locks"`
}

func (a *api) locks(w http.ResponseWriter, r *http.Request) error {
	locks, err := a.svc.Locks(r.Context())
	if err != nil {
		return err
	}
	for i := range locks {
		if locks[i].Origin == ussdpin.OriginCaller {
			locks[i].Account = telemetry.MaskPhone(locks[i].Account)
		}
	}
	return httpserver.WriteJSON(w, http.StatusOK, LockList{Locks: locks})
}

// Unlocked says what unlocking came to.
type Unlocked struct {
	Account  string `json:"account"`
	Unlocked bool   `json:"unlocked"`
}

func (a *api) unlock(w http.ResponseWriter, r *http.Request) error {
	account := r.PathValue("account")
	unlocked, err := a.svc.Unlock(r.Context(), account)
	if errors.Is(err, ussd.ErrNoAccount) {
		return fault.New(fault.NotFound, "Account not found")
	}
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, Unlocked{Account: account, Unlocked: unlocked})
}

// TelephoneUnlock names a telephone. Its number is in the body and never in a
// path, which is logged on the way.
type TelephoneUnlock struct {
	Telephone   string `json:"telephone,omitempty" jsonschema:"the telephone as the list of locks names it"`
	PhoneNumber string `json:"phoneNumber,omitempty" jsonschema:"or its E.164 number"`
}

// UnlockedTelephone says what unlocking came to.
type UnlockedTelephone struct {
	Telephone string `json:"telephone"`
	Unlocked  bool   `json:"unlocked"`
}

func (a *api) unlockTelephone(w http.ResponseWriter, r *http.Request) error {
	var in TelephoneUnlock
	if err := httpserver.ReadJSON(w, r, &in, httpserver.Strict); err != nil {
		return err
	}
	switch {
	case (in.Telephone == "") == (in.PhoneNumber == ""):
		return fault.New(fault.Invalid, "Give either telephone or phoneNumber")
	case in.PhoneNumber != "" && !ussdnumber.ValidPhone(in.PhoneNumber):
		return fault.New(fault.Invalid, "phoneNumber must be an E.164 number")
	case in.PhoneNumber == "" && ussdnumber.ValidPhone(in.Telephone):
		return fault.New(fault.Invalid, "telephone is a name from the list of locks")
	}
	telephone, unlocked, err := a.svc.UnlockTelephone(r.Context(), in.Telephone+in.PhoneNumber)
	if errors.Is(err, ussd.ErrNoAccount) {
		return fault.New(fault.NotFound, "No such telephone is locked")
	}
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusOK, UnlockedTelephone{Telephone: telephone, Unlocked: unlocked})
}

// maxDays is how far back statistics go.
const maxDays = 90

// number reads a query parameter from 1 to most, or returns the default when it
// is not given.
func number(r *http.Request, name string, def, most int) (int, error) {
	given := r.URL.Query().Get(name)
	if given == "" {
		return def, nil
	}
	n, err := strconv.Atoi(given)
	if err != nil || n < 1 || n > most {
		return 0, fault.Newf(fault.Invalid, "%s must be a number from 1 to %d", name, most)
	}
	return n, nil
}
