package httpserver

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/ratelimit"
)

// Auth says who may call a route. There is no default: a route that does not
// say is refused by Mount.
type Auth uint8

// Who may call a route.
const (
	// Public routes ignore credentials, good or bad.
	Public Auth = iota + 1
	// Operator routes are for whoever runs the program.
	Operator
	// Principal routes need an authenticated caller.
	Principal
	// Optional routes take a caller when there is one.
	Optional
)

// String returns the word that the documentation shows.
func (a Auth) String() string {
	switch a {
	case Public:
		return "public"
	case Operator:
		return "operator"
	case Principal:
		return "principal"
	case Optional:
		return "optional"
	}
	return "unset"
}

// Handler answers a request, or returns why it could not: the surface's table
// writes the body of that error.
type Handler func(w http.ResponseWriter, r *http.Request) error

// Param describes one parameter outside the body.
type Param struct {
	Name     string
	In       string // path, query or header
	Required bool
	Schema   any // a Go value whose type describes it; nil is a string
	Doc      string
	Example  any // shown and tried, also where it is not required; nil is made from name and type
}

// Reply describes one possible answer.
type Reply struct {
	Status int
	Body   any    // a Go value whose type describes it; nil is no described body
	Media  string // application/json when empty and Body is set
	Doc    string
}

// Route is one method on one path.
//
// Pattern is made of literal segments, {name} for one whole segment and
// {name...} for the rest of the path. Values are percent-decoded and read with
// r.PathValue. A literal wins over a name, a name over a rest. GET routes
// serve HEAD as well.
type Route struct {
	Method, Pattern string
	Summary, Doc    string
	Tags            []string
	Auth            Auth
	Role            Role // the least of an operators' route; zero: Viewer to read, else Changer
	InnerRole       Role // the most that the handler itself may ask for, where that is more than Role
	Asks            bool // changes nothing although it is no GET: viewers may, and it is not audited (ADR 0247)
	Noted           bool // is audited although it is a GET
	Params          []Param
	Body            any      // a Go value whose type describes the request body
	BodyMedia       []string // application/json when empty and Body is set
	Example         any      // of the body, shown and tried; nil is made from its type
	MaxBody         int64    // bytes; 0 is the server's default, negative is unlimited
	MaxValues       int      // of a JSON body: members, elements, objects and lists; 0 is strictjson.MaxValues
	Stream          bool     // never compressed, no progress limits on writes
	Quiet, Hidden   bool     // logged at debug level only; left out of the documentation
	Replies         []Reply
	Security        []string           // schemes that the documentation names in place of those of Auth
	Limiter         *ratelimit.Limiter // counts by client IP, beside the surface's own
	Limit           LimitClass
	Kept            bool // is served in the places that are kept when all others are taken, as operators are
	Handler         Handler
	// Began, when set, reports whether what the request asks for was begun by
	// issuer under the token of that name, which may then ask although it has
	// expired. Neither has been verified when it is asked.
	Began func(r *http.Request, issuer, token string) (bool, error)
}

// LimitClass names a limit by client address that routes share. The deployment
// says how much each allows (Config.Limits).
type LimitClass string

// The classes of routes that need no credential.
const (
	// LimitContent is for files that anybody may read, or send by a link.
	LimitContent LimitClass = "content"
	// LimitPages is for pages, what belongs to them, and other small answers.
	LimitPages LimitClass = "pages"
	// LimitRevocations is for statements that prove themselves by a signature and
	// are kept.
	LimitRevocations LimitClass = "revocations"
)

// Right names what a credential must open for the routes of a surface. It decides
// nothing: Authenticate does.
type Right string

// The rights. That of operators is their routes' own.
const (
	RightOracle   Right = "oracle" // also when a surface says nothing
	RightFiles    Right = "files"
	RightOperator Right = "operator"
)

// Surface is what one service offers: its routes and their common manners.
type Surface struct {
	Name   string
	Doc    string // one paragraph, shown in the documentation
	Right  Right  // what its credentials must open, for the documentation
	Routes []Route
	// Prefixes are the paths below which a missing route answers in this
	// surface's manner, such as "/api/fs".
	Prefixes []string
	// Errors writes error bodies; nil is NestErrors.
	Errors ErrorWriter
	// CORS is closed when zero.
	CORS CORSPolicy
	// Authenticate wraps Principal and Optional routes only.
	Authenticate func(Handler) Handler
	// Wrap wraps every route, the first one outermost, outside Authenticate.
	Wrap []func(Handler) Handler
	// Limiter counts every request of the surface by client IP; nil is none.
	Limiter *ratelimit.Limiter
	// Dynamic takes paths that are known only at request time.
	Dynamic *Dynamic
}

// Dynamic owns paths that change while the server runs. Fixed routes of any
// surface win over it.
type Dynamic struct {
	// Claims reports whether the first path segment is owned now. It is called
	// for requests that no fixed route takes, so it must be quick. What lies
	// below the surface's Prefixes is claimed without asking.
	Claims func(segment string) bool
	// Near names paths that resemble one which nobody owns, for the text of its
	// 404; nil names none.
	Near func(escapedPath string) []string
	// Route carries Auth, limits and the handler; its Method and Pattern are
	// only labels. Handlers may refine the label with SetPattern.
	Route Route
	// Paths returns OpenAPI path items to add to the documentation, with the
	// schemas they refer to. Version changes whenever the answer would.
	Paths   func() (paths, schemas map[string]any)
	Version func() uint64
}

// MountedRoute is a route with the name of the surface that owns it.
type MountedRoute struct {
	Surface string
	Route
}

// mounted is a route made ready to serve.
type mounted struct {
	route   Route
	surface *surface
	class   *ratelimit.Limiter // of the route's LimitClass
	names   []string           // of the variables, in order
	handler Handler            // with all wrapping applied
	meter   *routeMeter
}

// surface is a Surface made ready to serve.
type surface struct {
	Surface
	cors    *cors
	dynamic *mounted
	missing *mounted // stands in for paths that nobody serves
	guarded *mounted // the same for other methods of an operator's path
}

func (r *Route) check() error {
	switch {
	case r.Handler == nil:
		return errors.New("has no handler")
	case r.Auth < Public || r.Auth > Optional:
		return errors.New("does not say who may call it (Auth)")
	}
	return nil
}

func (r *Route) checkPattern() error {
	if r.Method == "" || strings.ToUpper(r.Method) != r.Method {
		return fmt.Errorf("method %q is not an upper-case word", r.Method)
	}
	if !strings.HasPrefix(r.Pattern, "/") {
		return fmt.Errorf("pattern %q does not start with a slash", r.Pattern)
	}
	for _, p := range r.Params {
		if p.In == "path" && !strings.Contains(r.Pattern, "{"+p.Name+"}") && !strings.Contains(r.Pattern, "{"+p.Name+"...}") {
			return fmt.Errorf("path parameter %q is not in the pattern", p.Name)
		}
	}
	return nil
}
