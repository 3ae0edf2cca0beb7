package ussd

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtext"
)

// checkKeyCode checks the code that a new key shows for an account whose person lost the
// old one, after the PIN was given in this session. It says which key it is.
func (h *hop) checkKeyCode(ctx context.Context) (string, map[string]string, error) {
	if h.next.Memory.Facts&ussdmenu.Linked == 0 {
		return "denied", nil, nil
	}
	return h.checkPersonsCode(ctx, ussdpin.PurposeKey)
}

// askNewKey stores the request. Nothing else changes until an operator approves it: a
// telephone and its PIN alone must not be enough to become somebody.
func (h *hop) askNewKey(ctx context.Context) (string, map[string]string, error) {
	proof, good, err := h.given(ctx, ussdpin.PurposeKey)
	if !good {
		return "denied", nil, err
	}
	did, err := h.svc.store.Link(ctx, proof.Account)
	if err != nil {
		return "", nil, fmt.Errorf("look for a link: %w", err)
	}
	// Whoever has another kind of DID changes the keys in its document.
	if did == proof.Issuer || !strings.HasPrefix(did, "did:key:") {
		return "denied", nil, nil
	}
	ready := h.now.Add(h.svc.cfg.NewKeyWait)
	h.effects = append(h.effects, AskNewKey{
		ID: "rb_" + strings.ToLower(rand.Text()[:16]), Proof: proof, Ready: ready, Expires: ready.Add(NewKeyLife),
	})
	h.next.Memory.Facts |= ussdmenu.KeyAsked
	return "ok", nil, nil
}

// loadKeyRequest shows which key was asked for, and when.
func (h *hop) loadKeyRequest(ctx context.Context) (string, map[string]string, error) {
	key, asked, err := h.svc.store.KeyRequest(ctx, h.next.Account, h.now)
	if err != nil {
		return "", nil, fmt.Errorf("look for a request for a key: %w", err)
	}
	if key == "" {
		h.next.Memory.Facts &^= ussdmenu.KeyAsked
		return "none", nil, nil
	}
	return "ok", map[string]string{"person": ussdtext.ShortDID(key), "asked": asked.UTC().Format("2006-01-02 15:04")}, nil
}

// cancelKeyRequest ends the request, if it still waits.
func (h *hop) cancelKeyRequest() (string, map[string]string, error) {
	h.effects = append(h.effects, CancelKeyRequest{Account: h.next.Account})
	h.next.Memory.Facts &^= ussdmenu.KeyAsked
	return "ok", nil, nil
}
