package ussdscript

import (
	"context"
	"fmt"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/ussd"
)

// Local is a line to a service in the same process.
type Local struct{ Service *ussd.Service }

var _ Line = Local{}

// Send implements Line.
func (l Local) Send(ctx context.Context, sessionID, code, phone, text string) (string, error) {
	a, err := l.Service.Handle(ctx, ussd.Request{SessionID: sessionID, ServiceCode: code, Phone: phone, Text: text})
	if fault.Is(err, fault.Invalid) {
		return "END " + fault.From(err).Message, nil
	}
	if err != nil {
		return "", fmt.Errorf("handle request: %w", err)
	}
	return a.String(), nil
}

// Screen implements Line.
func (l Local) Screen(ctx context.Context, sessionID string) (string, error) {
	v, err := l.Service.Look(ctx, sessionID)
	if err != nil {
		return "", fmt.Errorf("look at session: %w", err)
	}
	return v.Screen, nil
}
