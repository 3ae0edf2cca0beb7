package ussdhttp

import (
	"net/http"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
)

const (
	mediaJSON = "application/json"
	mediaForm = "application/x-www-form-urlencoded"
	mediaText = "text/plain"
)

// routes lists what is under the path of gateways: their routes, and those of
// operators where they were first.
func (a *api) routes() []httpserver.Route {
	all := a.gatewayRoutes()
	for _, route := range a.operatorRoutes() {
		if name := strings.TrimPrefix(route.Pattern, pathOperator); name != pathRefusals && name != pathMenus {
			route.Pattern = pathSession + name
			all = append(all, route)
		}
	}
	return all
}

func (a *api) gatewayRoutes() []httpserver.Route {
	text := []httpserver.Reply{
		{Status: http.StatusOK, Body: "", Media: mediaText, Doc: "CON and a menu, or END and a closing message"},
		{Status: http.StatusTooManyRequests, Body: "", Media: mediaText, Doc: "too many requests from one address"},
	}
	id := []httpserver.Param{{Name: "sessionId", In: "path", Required: true, Doc: "the gateway's session identifier"}}
	dialled := map[string]any{"sessionId": "example-session", "serviceCode": "*2233#", "phoneNumber": "+254700000001", "text": ""}
	all := []httpserver.Route{
		{
			Method: http.MethodPost, Pattern: pathSession, Summary: "One input of a USSD session",
			Doc:     "Called by the telecom gateway for every input. Sending the same text again replays the answer.",
			Example: dialled,
			Body:    SessionRequest{}, BodyMedia: []string{mediaJSON, mediaForm}, Replies: text, Handler: a.session,
		},
		{
			Method: http.MethodPost, Pattern: pathAfricasTalking, Summary: "Africa's Talking: one input",
			Example: dialled,
			Body:    AfricasTalkingRequest{}, BodyMedia: []string{mediaForm, mediaJSON}, Replies: text,
			Handler: a.africasTalking,
		},
		{
			Method: http.MethodPost, Pattern: pathAfricasTalking + "/events", Summary: "Africa's Talking: a session is over",
			Body: AfricasTalkingNotice{}, BodyMedia: []string{mediaForm}, Replies: []httpserver.Reply{{Status: http.StatusOK}},
			Handler: a.africasTalkingEnded,
		},
		{
			Method: http.MethodPost, Pattern: "/api/ussd/hubtel", Summary: "Hubtel: one input",
			Body: HubtelRequest{}, Replies: []httpserver.Reply{{Status: http.StatusOK, Body: HubtelReply{}}}, Handler: a.hubtel,
		},
		{
			Method: http.MethodPost, Pattern: "/api/ussd/infobip/session/{sessionId}/start", Summary: "Infobip: a session begins",
			Params: id, Body: InfobipRequest{}, Replies: []httpserver.Reply{{Status: http.StatusOK, Body: InfobipReply{}}},
			Handler: a.infobip(true),
		},
		{
			Method: http.MethodPut, Pattern: "/api/ussd/infobip/session/{sessionId}/response", Summary: "Infobip: one input",
			Params: id, Body: InfobipRequest{}, Replies: []httpserver.Reply{{Status: http.StatusOK, Body: InfobipReply{}}},
			Handler: a.infobip(false),
		},
		{
			Method: http.MethodPut, Pattern: "/api/ussd/infobip/session/{sessionId}/end", Summary: "Infobip: a session is over",
			Params: id, Body: InfobipEnd{}, Replies: []httpserver.Reply{{Status: http.StatusOK, Body: InfobipReply{}}},
			Handler: a.infobipEnd,
		},
		{
			Method: http.MethodPost, Pattern: "/api/ussd/arkesel", Summary: "Arkesel: one input",
			Body: ArkeselRequest{}, Replies: []httpserver.Reply{{Status: http.StatusOK, Body: ArkeselReply{}}},
			Handler: a.arkesel,
		},
		{
			Method: http.MethodPost, Pattern: "/api/ussd/nalo", Summary: "Nalo: one input",
			Body: NaloRequest{}, Replies: []httpserver.Reply{{Status: http.StatusOK, Body: NaloReply{}}}, Handler: a.nalo,
		},
	}
	all = append(all, a.dataRoutes()...)
	for i := range all {
		all[i].Auth = httpserver.Public
		all[i].Tags = []string{"USSD"}
		all[i].MaxBody = maxBody
		all[i].Handler = a.guarded(all[i].Handler)
	}
	return all
}

// The paths of operators are apart from those of gateways: a proxy that lets only
// gateways in there would shut operators out.
const (
	pathOperator = "/operator/ussd"
	pathRefusals = "/refusals"
	pathMenus    = "/menus"
)

func (a *api) operatorRoutes() []httpserver.Route {
	id := []httpserver.Param{{Name: "sessionId", In: "path", Required: true, Doc: "the gateway's session identifier, or dialect:identifier"}}
	days := []httpserver.Param{{Name: "days", In: "query", Schema: 0, Doc: "how many days back, 1 to 90; 7 when not given"}}
	menu := append(days[:1:1], httpserver.Param{Name: "code", In: "query", Example: "*2233#", Doc: "the service code whose menu is meant, such as *384*7#; that of all other codes when not given"})
	ok := func(v any) []httpserver.Reply {
		return []httpserver.Reply{
			{Status: http.StatusOK, Body: v},
			{Status: http.StatusBadRequest, Doc: "a parameter is out of its range"},
			{Status: http.StatusNotFound, Doc: "no such thing, or the caller is not an operator"},
		}
	}
	all := []httpserver.Route{
		{
			Method: http.MethodGet, Pattern: pathOperator + "/debug/{sessionId}", Summary: "One session", Params: id,
			Replies: ok(DebugRecord{}), Handler: a.debug,
		},
		{
			Method: http.MethodGet, Pattern: pathOperator + "/sessions", Summary: "Active sessions", Replies: ok(ActiveList{}),
			Handler: a.sessions,
		},
		{
			Method: http.MethodGet, Pattern: pathOperator + "/live", Summary: "Sessions that were used last",
			Params:  []httpserver.Param{{Name: "limit", In: "query", Schema: 0, Doc: "1 to 500; 50 when not given"}},
			Replies: ok(LiveList{}), Handler: a.live,
		},
		{
			Method: http.MethodGet, Pattern: pathOperator + "/timeline/{sessionId}", Summary: "One session's history, masked", Params: id,
			Replies: ok(ussd.View{}), Handler: a.timeline,
		},
		{
			Method: http.MethodGet, Pattern: pathOperator + pathMenus, Summary: "The menus, and the service codes of each",
			Doc:     "The first is the menu of all other codes; the funnel and the graph take a code of another.",
			Replies: ok(MenuList{}), Handler: a.menus,
		},
		{
			Method: http.MethodGet, Pattern: pathOperator + "/funnel", Summary: "Screens shown and left", Params: menu,
			Replies: ok(Funnel{}), Handler: a.funnel,
		},
		{
			Method: http.MethodGet, Pattern: pathOperator + "/graph", Summary: "The menu as a graph, with counts", Params: menu,
			Replies: ok(ussdmenu.Graph{}), Handler: a.graph,
		},
		{
			Method: http.MethodGet, Pattern: pathOperator + pathRefusals, Summary: "What gateways' requests were refused for", Params: days,
			Doc:     "Counts by dialect, field and rule. What was sent is kept nowhere.",
			Replies: ok(RefusalList{}), Handler: a.refusals,
		},
		{Method: http.MethodGet, Pattern: pathOperator + "/locks", Summary: "What is locked after wrong PINs", Replies: ok(LockList{}), Handler: a.locks},
		{
			Method: http.MethodPost, Pattern: pathOperator + "/accounts/{account}/unlock", Summary: "Unlock an account",
			Params:  []httpserver.Param{{Name: "account", In: "path", Required: true, Doc: "the account's identifier"}},
			Replies: ok(Unlocked{}), Handler: a.unlock,
		},
		{
			Method: http.MethodPost, Pattern: pathOperator + "/telephones/unlock", Summary: "Unlock a telephone that tried foreign accounts",
			Body: TelephoneUnlock{}, MaxBody: maxBody, Replies: ok(UnlockedTelephone{}), Handler: a.unlockTelephone,
		},
	}
	for i := range all {
		all[i].Auth = httpserver.Operator
		all[i].Tags = []string{"USSD, for operators"}
	}
	return all
}
