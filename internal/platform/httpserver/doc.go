// Package httpserver is the one listener that all services share.
//
// A service hands it a Surface: a list of Routes with one table of error
// bodies, one cross-origin policy and one way to authenticate. The same Route
// is the source of the mux, of the documentation (apidocs), of metric labels and
// of the test that tries every credential on every path. Two owners of one
// method and path stop the start.
//
// It promises that every response carries a request id, that a panic is a
// JSON 500 on a connection that stays usable, that bodies, headers,
// connections and rates are bounded, that slow clients cannot stop others
// from being served, and that a server told to stop answers what it accepted.
// It refuses to clean or redirect paths: %2F, ':' and '$' inside a segment
// reach the handler as they were meant.
//
// Decision: ADR 0020.
package httpserver
