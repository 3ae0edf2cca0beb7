package config

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// masked stands for what is not shown.
const masked = "********"

// Mask hides credentials in a value that is to be shown: what stands before the @
// of an address, words of its path that look like keys, the parameters of a query
// and the fragment behind it, and what is called a secret in JSON and in a list of
// parameters. It does not know which parameters are secret, so it
// shows those that it knows to be harmless and hides all others.
func Mask(text string) string {
	if shown, ok := maskJSON(text); ok {
		return shown
	}
	return maskQuery(maskUsers(maskPairs(text)))
}

// pair is a parameter of a connection's text, as PostgreSQL's other form has them:
// password='it\'s hush'. What stands in an address is left to maskQuery.
var pair = regexp.MustCompile(`(?:^|\s)(\w+)\s*=\s*('(?:[^'\\]|\\.)*'?|[^\s'&;]+)`)

// maskPairs hides the values of parameters that are called like secrets.
func maskPairs(text string) string {
	var b strings.Builder
	from := 0
	for _, at := range pair.FindAllStringSubmatchIndex(text, -1) {
		if value := text[at[4]:at[5]]; secretPair(text[at[2]:at[3]]) && !strings.Contains(value, "://") {
			b.WriteString(text[from:at[4]] + masked)
			from = at[5]
		}
	}
	return b.String() + text[from:]
}

// maskList is Mask for a comma list, each item for itself.
func maskList(text string) string {
	if shown, ok := maskJSON(text); ok {
		return shown
	}
	items := strings.Split(maskUsers(text), ",")
	for i, item := range items {
		items[i] = Mask(item)
	}
	return strings.Join(items, ",")
}

// maskUsers hides what stands before an @. A password may hold anything, so all
// up to the last @ before the next address is taken for it.
func maskUsers(text string) string {
	const mark = "://"
	first, rest, found := strings.Cut(text, mark)
	if !found {
		return maskUser(text)
	}
	var b strings.Builder
	b.WriteString(maskUser(first))
	for found {
		var segment string
		segment, rest, found = strings.Cut(rest, mark)
		b.WriteString(mark)
		if at := strings.LastIndexByte(segment, '@'); at > 0 {
			segment = masked + segment[at:]
		}
		b.WriteString(segment)
	}
	return b.String()
}

// maskUser hides what stands before an @ where there is no scheme, up to a blank.
func maskUser(text string) string {
	at := strings.LastIndexByte(text, '@')
	if at <= 0 {
		return text
	}
	from := strings.LastIndexAny(text[:at], " \t\r\n") + 1
	if from == at || text[from:at] == masked {
		return text
	}
	return text[:from] + masked + text[at:]
}

// harmless parameters are those of our own settings' addresses, and PostgreSQL's.
func harmless(name string) bool {
	return slices.Contains([]string{
		"endpoint", "region", "path_style", "tls", "ca", "chain", "dialect", "descriptors", "post", "transport",
		"sslmode", "sslrootcert", "application_name", "target_session_attrs", "connect_timeout", "host", "port", "dbname",
	}, strings.ToLower(name))
}

// maskQuery hides the parameters and the fragment of an address.
func maskQuery(text string) string {
	address := strings.Contains(text, "://")
	if before, fragment, found := strings.Cut(text, "#"); found && address && fragment != "" {
		return maskQuery(before) + "#" + masked
	}
	before, query, found := strings.Cut(text, "?")
	if address {
		before = maskPath(before)
	}
	if !found {
		return before
	}
	if !address && !strings.Contains(query, "=") {
		return text
	}
	var b strings.Builder
	b.WriteString(before + "?")
	for query != "" {
		param, delimiter := query, ""
		if at := strings.IndexAny(query, "&;"); at >= 0 {
			param, delimiter = query[:at], query[at:at+1]
		}
		query = query[len(param)+len(delimiter):]
		b.WriteString(maskParameter(param) + delimiter)
	}
	return b.String()
}

// leastKey is the length from which a word of letters and digits in a path is
// taken for a key, as in the addresses of webhooks.
const leastKey = 8

// maskPath hides, behind the host of an address, words that look like keys and the
// values of parameters that stand in the path.
func maskPath(text string) string {
	scheme, rest, _ := strings.Cut(text, "://")
	parts := strings.Split(rest, "/")
	for i, part := range parts {
		word, params, found := strings.Cut(part, ";")
		if i > 0 && len(word) >= leastKey && strings.ContainsAny(word, "0123456789") && strings.ContainsFunc(word, unicode.IsLetter) {
			word = masked
		}
		if found {
			list := strings.Split(params, ";")
			for n, param := range list {
				list[n] = maskParameter(param)
			}
			word += ";" + strings.Join(list, ";")
		}
		parts[i] = word
	}
	return scheme + "://" + strings.Join(parts, "/")
}

func maskParameter(param string) string {
	name, value, found := strings.Cut(param, "=")
	switch {
	case param == "":
		return ""
	case !found: // a query that is one word may be a key
		return masked
	case value == "":
		return maskUser(name) + "="
	case harmless(name):
		return name + "=" + maskEscaped(value)
	}
	return maskUser(name) + "=" + masked
}

// maskEscaped hides credentials in a value that is an address itself, escaped or
// not.
func maskEscaped(value string) string {
	if shown := Mask(value); shown != value {
		return shown
	}
	for plain := value; ; {
		next, err := url.QueryUnescape(plain)
		if err != nil || next == plain {
			return value
		}
		plain = next
		if shown := Mask(plain); shown != plain {
			return shown
		}
	}
}

// maskJSON masks every text in an object or a list of JSON.
func maskJSON(text string) (string, bool) {
	if trimmed := strings.TrimSpace(text); trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' {
		return "", false
	}
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return "", false
	}
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	if err := out.Encode(maskValue(value, false)); err != nil {
		return masked, true
	}
	return strings.TrimSpace(b.String()), true
}

// maskValue walks through JSON; below a secret nothing is shown.
func maskValue(value any, secret bool) any {
	switch v := value.(type) {
	case map[string]any:
		shown := make(map[string]any, len(v))
		for name, below := range v {
			shown[Mask(name)] = maskValue(below, secret || secretName(name))
		}
		return shown
	case []any:
		shown := make([]any, len(v))
		for i, below := range v {
			shown[i] = maskValue(below, secret)
		}
		return shown
	case nil, bool:
		return v
	case string:
		if !secret {
			return Mask(v)
		}
	default:
		if !secret {
			return v
		}
	}
	return masked
}

// secretPair reports whether a parameter is called like a password. Words that are
// also in names of plugins and models (credits, keys) do not make one.
func secretPair(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"pass", "pwd", "secret", "token"}, func(word string) bool { return strings.Contains(name, word) })
}

// secretName reports whether a member of JSON is called like something that must
// not be seen.
func secretName(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"token", "secret", "pass", "pwd", "key", "auth", "bearer", "sig", "cred", "cookie", "header", "env"},
		func(word string) bool { return strings.Contains(name, word) })
}
