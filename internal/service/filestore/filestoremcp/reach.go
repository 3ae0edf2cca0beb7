package filestoremcp

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/toolschema"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
)

// unreachedError is a failure of a call of which the token reaches nothing.
type unreachedError struct{ error }

// judge advises what to do about a failure, and tells those apart for which another
// token is the remedy. Of what the token reaches it says the truth: whoever holds a token
// for other files as well must not do there what failed here.
func (t tool) judge(a filestore.Access, in any, err error) error {
	advice := advise(a, err)
	if !fault.Is(err, fault.Forbidden) && !fault.Is(err, fault.NotFound) {
		return advice
	}
	if named, ok := in.(interface{ places() []string }); ok && reachesAny(a, t.need, named.places()) {
		return advice
	}
	return unreachedError{advice}
}

// reachesAny looks at paths alone, and not at what is there: it tells a token nothing.
func reachesAny(a filestore.Access, need filestore.Ability, places []string) bool {
	scope, err := a.Scope(need)
	if err != nil {
		return false
	}
	for _, p := range places {
		if clean, err := vfspath.CleanFolder(p); err != nil || scope.Allows(clean) {
			return true
		}
	}
	return false
}

// tellUnreached puts it into the results of tools.
func tellUnreached(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if r, ok := res.(*mcp.CallToolResult); ok && r != nil {
			if _, is := errors.AsType[unreachedError](r.GetError()); is {
				r.Meta = mcp.Meta{toolschema.Unreached: true}
			}
		}
		return res, err
	}
}

// The places that calls name. Calls by CID name none.

func (in listIn) places() []string    { return []string{in.Path} }
func (in pathIn) places() []string    { return []string{in.Path} }
func (in writeIn) places() []string   { return []string{in.Path} }
func (in appendIn) places() []string  { return []string{in.Path} }
func (in editIn) places() []string    { return []string{in.Path} }
func (in moveIn) places() []string    { return []string{in.From, in.To} }
func (in deleteIn) places() []string  { return in.Paths }
func (in restoreIn) places() []string { return []string{in.Path} }
func (in shareIn) places() []string   { return []string{in.Path} }
