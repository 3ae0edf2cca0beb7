package ussdhttp

import (
	"net/http"
	"strconv"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussddialect"
)

// dataRoutes are those of the dialects that are written as data.
func (a *api) dataRoutes() []httpserver.Route {
	var all []httpserver.Route
	for path, d := range a.data {
		route := httpserver.Route{
			Method: d.Method(), Pattern: path, Summary: d.Name() + ": one input", Doc: d.About(),
			Replies: []httpserver.Reply{{Status: http.StatusOK, Body: "", Media: d.Media(), Doc: "a continue or an end of the dialect"}},
			Handler: a.dataHop(d),
		}
		if media := d.BodyMedia(); media != "" {
			route.Body, route.BodyMedia = "", []string{media}
		}
		all = append(all, route)
	}
	return all
}

// byPath finds dialects by the paths of their routes.
func byPath(all []*ussddialect.Dialect) map[string]*ussddialect.Dialect {
	paths := make(map[string]*ussddialect.Dialect, len(all))
	for _, d := range all {
		paths[pathSession+"/"+d.Name()] = d
	}
	return paths
}

func (a *api) dataHop(d *ussddialect.Dialect) httpserver.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if r.Method == http.MethodHead {
			return nil // who only looks moves nothing
		}
		call, err := readData(d, r)
		switch {
		case err != nil:
			return writeData(w, http.StatusOK, d, call, a.refuse(r, err))
		case call.Over:
			err := a.end(r, d.Name(), call.Request.SessionID, call.Request.Phone)
			return writeData(w, http.StatusOK, d, call, a.settled(r, ussd.Answer{End: true}, err))
		}
		return writeData(w, http.StatusOK, d, call, a.hop(r, call.Request))
	}
}

func readData(d *ussddialect.Dialect, r *http.Request) (ussddialect.Call, error) {
	in := ussddialect.Incoming{Query: r.URL.RawQuery, Media: r.Header.Get("Content-Type")}
	if len(in.Query) > maxBody {
		return ussddialect.Call{}, &ussd.InvalidError{Field: "query", Rule: "must be at most 16 KiB"}
	}
	if d.Method() != http.MethodGet {
		raw, err := readRaw(r)
		if err != nil {
			return ussddialect.Call{}, err
		}
		in.Body = raw
	}
	return d.Read(in)
}

func writeData(w http.ResponseWriter, status int, d *ussddialect.Dialect, call ussddialect.Call,
	answer ussd.Answer,
) error {
	body := d.Answer(call, answer)
	h := w.Header()
	h.Set("Content-Type", d.Media()+"; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cache-Control", "no-store") // the address is the same for a repeated delivery
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, err := w.Write(body)
	return err
}

// dataError answers what never reached the handler of a dialect; false where the
// path is none's.
func (a *api) dataError(w http.ResponseWriter, r *http.Request, e *fault.Error) bool {
	d := a.data[r.URL.Path]
	if d == nil || r.Method != d.Method() || e.Kind == fault.Forbidden {
		return false
	}
	status, text := http.StatusOK, textUnavailable
	switch e.Kind {
	case fault.Invalid, fault.TooLarge, fault.UnsupportedMedia:
		text = textInvalid
	case fault.RateLimited:
		status = http.StatusTooManyRequests
		httpserver.SetRetryAfter(w.Header(), e)
	}
	// the client may be gone; there is nobody left to tell
	_ = writeData(w, status, d, ussddialect.Call{}, ussd.Answer{Text: text, End: true})
	return true
}
