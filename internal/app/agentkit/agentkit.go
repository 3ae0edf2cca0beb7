// Package agentkit puts the oracle at the address for agents, beside the tools of the
// file store: it is wiring, and holds no rules of its own.
package agentkit

import (
	"net/http"

	"github.com/castalia-org/castalia/internal/service/filestore/filestoremcp"
	"github.com/castalia-org/castalia/internal/service/oracle/face/mcpface"
)

// Part is the oracle as that address takes it.
type Part struct{ *mcpface.Face }

var _ filestoremcp.Part = Part{}

// Enter implements filestoremcp.Part.
func (p Part) Enter(w http.ResponseWriter, r *http.Request) (filestoremcp.Entered, error) {
	e, err := p.Face.Enter(w, r)
	return filestoremcp.Entered(e), err
}
