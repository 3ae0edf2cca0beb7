package endpoints

import (
	"context"

	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/plugin"
)

// InForce is a model.Provider, and the services of calls, over a document that
// changes: each request goes to what is in force when it is made, and ends there.
type InForce struct {
	Document interface{ Value() *Set }
}

var (
	_ model.Provider      = InForce{}
	_ call.SpeechServices = InForce{}
)

// Hearing implements call.SpeechServices.
func (p InForce) Hearing() call.SpeechToText {
	if s := p.Document.Value().hearing; s != nil {
		return s
	}
	return nil
}

// Voice implements call.SpeechServices.
func (p InForce) Voice() call.TextToSpeech {
	if s := p.Document.Value().voice; s != nil {
		return s
	}
	return nil
}

// Name is that of the set.
func (p InForce) Name() string { return p.Document.Value().Name() }

// Models are those of the set.
func (p InForce) Models() []model.Info { return p.Document.Value().Models() }

// Stream asks the set.
func (p InForce) Stream(ctx context.Context, req plugin.ModelRequest,
	sink func(plugin.Chunk),
) (plugin.ModelResponse, error) {
	return p.Document.Value().Stream(ctx, req, sink)
}
