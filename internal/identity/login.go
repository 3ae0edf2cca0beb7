package identity

import (
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// logsIn reports whether a delegation stands for its issuer when it comes
// alone: whether it is one from a user to an oracle.
//
// People address many tokens to this service: for one file, for queries, for one
// call of a tool. Each opens what it names. Were any of them a login, whoever
// got hold of the narrowest would read every conversation. So at least one
// capability has to be about the oracle or a service that it uses for the user
// (ixo:oracle, ixo:*, ixo:memory, …), and none may be restricted to CIDs.
// What does not log in may still be deposited, or come beside an invocation.
func logsIn(leaf *ucan.UCAN, d ucan.Delegation) bool {
	return d.CIDs == nil && slices.ContainsFunc(leaf.Capabilities, aboutOracle)
}

// narrowAbilities are of tokens for one request of another kind, on whatever
// resource they stand.
var narrowAbilities = []string{"fs/", "query/", "mcp/", "knowledge/", "operator/"}

func aboutOracle(c ucan.Capability) bool {
	for _, prefix := range narrowAbilities {
		if strings.HasPrefix(strings.ToLower(c.Can), prefix) {
			return false
		}
	}
	r, err := ucan.ParseResource(c.With)
	if err != nil || r.Unsafe() || r.File {
		return false
	}
	name, ok := r.Ixo()
	if !ok {
		return false
	}
	first, rest, _ := strings.Cut(strings.ReplaceAll(name, ":", "/"), "/")
	switch {
	case first != "*" && !plainName(first), first == "query", first == "knowledge", first == "operator", strings.HasPrefix(first, "filesystem"):
		return false
	case first == "oracle" && strings.Contains("/"+rest+"/", "/mcp/"):
		return false // one tool of one server
	}
	return true
}

// plainName reports whether a name can be read in one way only: a letter of
// another alphabet, or a parameter behind it, could make two of one.
func plainName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
}
