package filestoremcp_test

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

func TestBehaviour(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		a := connect(t, serve(t, w), token(t, "*"))
		filestoretest.Behaviour(t, filestoretest.Agent{T: t, Next: func() *mcp.ClientSession { return a.ClientSession }})
	})
}
