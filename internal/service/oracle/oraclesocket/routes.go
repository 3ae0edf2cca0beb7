package oraclesocket

import (
	"context"
	"net/http"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// Path is where clients look for the gateway.
const Path = "/socket.io/"

// Surface returns the gateway's routes with the oracle's CORS rules.
func (g *Gateway) Surface(cors httpserver.CORSPolicy) httpserver.Surface {
	return httpserver.Surface{
		Name:   "socket",
		Doc:    "The oracle's events over socket.io: namespace /, query sessionId, auth.invocation or auth.ucanDelegation. The catalogue of events is in docs/reference/events.md.",
		Routes: g.Routes(),
		CORS:   cors,
	}
}

// Routes returns the routes alone.
func (g *Gateway) Routes() []httpserver.Route {
	route := func(method, summary string) httpserver.Route {
		return httpserver.Route{
			Method: method, Pattern: Path, Summary: summary, Tags: []string{"Events"},
			Doc:  "Engine.IO 4 over long polling and WebSocket, as socket.io clients speak it. The credential travels in the CONNECT packet; a socket without a session of its user is refused with packet 44 and closed.",
			Auth: httpserver.Public,
			Params: []httpserver.Param{
				{Name: "EIO", In: "query", Required: true, Doc: "Protocol: 4."},
				{Name: "transport", In: "query", Required: true, Doc: "polling or websocket."},
				{Name: "sid", In: "query", Doc: "The Engine.IO session, on every request but the first."},
				{Name: "sessionId", In: "query", Doc: "The chat session that the socket follows, on the first request."},
			},
			MaxBody: -1, // the engine answers bodies over its own limit by its own rules
			Stream:  true,
			Quiet:   true,
			Replies: []httpserver.Reply{
				{Status: http.StatusSwitchingProtocols, Doc: "A WebSocket."},
				{Status: http.StatusOK, Media: "text/plain", Body: "", Doc: "Packets, or ok."},
				{Status: http.StatusBadRequest, Body: engineError{}, Doc: "Unknown session, transport or protocol."},
			},
			Handler: g.serve,
		}
	}
	return []httpserver.Route{
		route(http.MethodGet, "Open an event channel, poll it, or upgrade it to WebSocket"),
		route(http.MethodPost, "Send packets over polling"),
	}
}

// engineError is the body of an Engine.IO error.
type engineError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (g *Gateway) serve(w http.ResponseWriter, r *http.Request) error {
	if draining := httpserver.Draining(r.Context()); draining != nil {
		g.drain.Do(func() { go g.drainWith(draining) }) //nolint:contextcheck // outlives the request
	}
	g.server.ServeHTTP(w, r)
	return nil
}

// drainWith ends the sockets when the server begins to stop: it would wait for
// polls that are held, and nobody would tell the WebSockets.
func (g *Gateway) drainWith(draining <-chan struct{}) {
	<-draining
	g.shutdown(context.Background())
}
