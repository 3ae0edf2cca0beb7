package ipfsgateway

import (
	"crypto/sha256"
	"encoding/hex"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/unixfs"
)

const (
	mediaRaw = "application/vnd.ipld.raw"
	mediaCAR = "application/vnd.ipld.car"
)

// wanted is what a request asks for.
type wanted struct {
	car   bool
	scope unixfs.Scope
	bytes unixfs.Range
	// asked are the texts of both, which belong to the entity tag.
	asked string
	twice bool
}

// parse reads the format and its parameters. Those of the address go before those of
// the Accept header.
func parse(r *http.Request) (wanted, error) {
	w := wanted{scope: unixfs.ScopeAll, bytes: unixfs.Whole()}
	format, params := accepted(r.Header.Values("Accept"))
	q := r.URL.Query()
	if given := q.Get("format"); given != "" {
		format = given
	}
	switch format {
	case "raw":
		return w, nil
	case "car":
		w.car = true
	case "":
		return w, fault.New(fault.Invalid, "say what is wanted: format=raw or format=car, or an Accept header with "+mediaRaw+" or "+mediaCAR)
	default:
		return w, fault.Newf(fault.Invalid, "format %.20q is not offered: raw and car are", format)
	}
	for _, name := range []string{"version", "order", "dups"} {
		if given := q.Get("car-" + name); given != "" {
			params[name] = given
		}
	}
	if v := params["version"]; v != "" && v != "1" {
		return w, fault.New(fault.Invalid, "only version 1 of CAR is offered")
	}
	if o := params["order"]; o != "" && o != "dfs" && o != "unk" {
		return w, fault.New(fault.Invalid, "the order is dfs or unk")
	}
	switch params["dups"] {
	case "", "n":
	case "y":
		w.twice = true
	default:
		return w, fault.New(fault.Invalid, "dups is y or n")
	}
	return w, w.parseScope(q)
}

func (w *wanted) parseScope(q url.Values) error {
	if text := q.Get("entity-bytes"); text != "" {
		var ok bool
		if w.bytes, ok = parseBytes(text); !ok {
			return fault.New(fault.Invalid, "entity-bytes is from:to, in bytes")
		}
		w.scope = unixfs.ScopeEntity
	}
	if text := q.Get("dag-scope"); text != "" {
		w.scope = unixfs.Scope(text)
		switch w.scope {
		case unixfs.ScopeBlock, unixfs.ScopeEntity, unixfs.ScopeAll:
		default:
			return fault.New(fault.Invalid, "dag-scope is block, entity or all")
		}
	}
	w.asked = string(w.scope) + " " + q.Get("entity-bytes")
	return nil
}

func parseBytes(text string) (unixfs.Range, bool) {
	from, to, ok := strings.Cut(text, ":")
	if !ok {
		return unixfs.Range{}, false
	}
	var r unixfs.Range
	var err error
	if r.From, err = strconv.ParseInt(from, 10, 64); err != nil {
		return r, false
	}
	if to == "*" {
		r.ToEnd = true
		return r, true
	}
	r.To, err = strconv.ParseInt(to, 10, 64)
	return r, err == nil && (r.From < 0 || r.To < 0 || r.From <= r.To)
}

// accepted finds the first format that a client accepts, with its parameters.
func accepted(values []string) (format string, params map[string]string) {
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			media, params, err := mime.ParseMediaType(strings.TrimSpace(part))
			switch {
			case err != nil || params["q"] == "0":
			case media == mediaRaw:
				return "raw", params
			case media == mediaCAR:
				return "car", params
			}
		}
	}
	return "", map[string]string{}
}

func (w wanted) dups() string {
	if w.twice {
		return "y"
	}
	return "n"
}

// media is the type of the answer, which says how the blocks come.
func (w wanted) media() string {
	return mediaCAR + "; version=1; order=dfs; dups=" + w.dups()
}

// location is the address of the same answer, with the format in it.
func (w wanted) location(u *url.URL) string {
	q := u.Query()
	q.Set("format", "raw")
	if w.car {
		q.Set("format", "car")
		q.Set("car-version", "1")
		q.Set("car-order", "dfs")
		q.Set("car-dups", w.dups())
	}
	return u.EscapedPath() + "?" + q.Encode()
}

// tag names the answer: what it is about, and how much of it.
func (w wanted) tag(r *http.Request, roots []string) string {
	sum := sha256.Sum256([]byte(r.URL.EscapedPath() + "\x00" + w.asked + "\x00" + w.dups()))
	return roots[len(roots)-1] + ".car." + string(w.scope) + "." + hex.EncodeToString(sum[:8])
}
