// Package query answers HTTP requests with the replies of gRPC query services.
//
// It promises that any service whose descriptors carry google.api.http rules
// can be asked without generated code: the rules become routes and parameters
// request bytes (sub-package httprule), reply bytes become JSON (wirejson).
//
// Around the transcoder stand a cache that knows block heights, and the limits
// that keep one client from hurting the others. Where the bytes come from is
// somebody else's business: the package declares the interface Chain, and the
// sub-package upstream fulfils it with gRPC connections.
//
// It refuses to write: only methods reached by GET are served, unless the
// operator lists others by name. It refuses to trust an upstream: replies,
// descriptors and heights are checked and bounded like any other input.
//
// Decisions: ADR 0037, ADR 0039.
package query
