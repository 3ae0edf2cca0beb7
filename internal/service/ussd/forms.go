package ussd

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdform"
)

// AddSubmission stores a form that was sent.
type AddSubmission struct{ Submission ussdform.Submission }

func (AddSubmission) effect() {}

// storeForm keeps what the caller typed, if the caller agreed. It is stored with
// the hop: what was thanked for is there, once.
func (h *hop) storeForm(call string) (string, map[string]string, error) {
	name, form := h.menu.Form(call)
	vars := h.next.State.Vars
	if !form.Agreed(vars) {
		return "refused", nil, nil
	}
	values, ok := form.Read(vars)
	if !ok {
		return "invalid", nil, nil
	}
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	h.effects = append(h.effects, AddSubmission{ussdform.Submission{
		ID: fmt.Sprintf("%012x%s", h.now.UnixMilli(), hex.EncodeToString(b[:])), Form: name, Menu: h.menu.Version(),
		Account: h.next.Account,
		Phone:   h.req.Phone, Language: h.next.State.Lang, At: h.now, Values: values, Notify: form.Notify,
		Receipt: form.Receipt,
	}})
	return "ok", nil, nil
}
