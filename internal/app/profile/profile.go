// Package profile lets operators measure a running node.
package profile

import (
	"net/http"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

const (
	usualProfile   = 10 * time.Second
	longestProfile = time.Minute
)

// Surface lets operators see what the program spends its time and memory
// on. It is not there unless PROFILING_ENABLED says so: a profile shows nobody's
// data, but taking one costs everybody time.
func Surface(enabled bool) httpserver.Surface {
	s := httpserver.Surface{Name: "profile"}
	if !enabled {
		return s
	}
	var busy atomic.Bool // the runtime takes one profile at a time
	route := func(pattern, summary, doc string, h httpserver.Handler) {
		s.Routes = append(s.Routes, httpserver.Route{
			Method: http.MethodGet, Pattern: "/debug/profile/" + pattern, Auth: httpserver.Operator, Role: httpserver.Changer,
			Tags:    []string{"Operators"},
			Summary: summary, Doc: doc, Stream: true, Handler: h,
			Params:  []httpserver.Param{{Name: "seconds", In: "query", Schema: 0, Doc: "How long to measure: 1 to 60, usually 10."}},
			Replies: []httpserver.Reply{{Status: 200, Media: "application/octet-stream"}, {Status: 409, Doc: "Another profile is being taken."}},
		})
	}
	timed := func(start func(http.ResponseWriter) error, stop func()) httpserver.Handler {
		return func(w http.ResponseWriter, r *http.Request) error {
			length, err := profileLength(r)
			if err != nil {
				return err
			}
			if !busy.CompareAndSwap(false, true) {
				return fault.New(fault.Conflict, "Another profile is being taken")
			}
			defer busy.Store(false)
			w.Header().Set("Content-Type", "application/octet-stream")
			if err := start(w); err != nil {
				return fault.Wrap(fault.Conflict, "The profile cannot be taken", err)
			}
			defer stop()
			select {
			case <-time.After(length):
			case <-r.Context().Done():
			}
			return nil
		}
	}
	route("cpu", "Processor profile", "For `go tool pprof`.", timed(func(w http.ResponseWriter) error {
		return pprof.StartCPUProfile(w)
	}, pprof.StopCPUProfile))
	route("trace", "Execution trace", "For `go tool trace`.", timed(func(w http.ResponseWriter) error { return trace.Start(w) }, trace.Stop))
	for _, name := range []string{"heap", "allocs", "goroutine"} {
		route(name, "Profile: "+name, "For `go tool pprof`.", func(w http.ResponseWriter, _ *http.Request) error {
			if name != "goroutine" {
				runtime.GC() // they tell what was known at the last collection
			}
			w.Header().Set("Content-Type", "application/octet-stream")
			return pprof.Lookup(name).WriteTo(w, 0)
		})
	}
	return s
}

func profileLength(r *http.Request) (time.Duration, error) {
	text := r.URL.Query().Get("seconds")
	if text == "" {
		return usualProfile, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || time.Duration(n)*time.Second > longestProfile {
		return 0, fault.New(fault.Invalid, "seconds must be a whole number from 1 to 60")
	}
	return time.Duration(n) * time.Second, nil
}
