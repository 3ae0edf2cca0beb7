// Package httprule makes routes of the google.api.http rules in descriptors.
//
// It promises that a path finds every route that matches it, the most specific
// first, in work bounded by the number of templates; and that path variables,
// query parameters and JSON bodies become request bytes without generated code:
// equal requests have equal bytes, whatever the order and spelling of their
// parameters.
//
// It refuses rules that it cannot serve, with a warning and without taking the
// others away, and parameters that do not fit their fields, with ErrParameter.
//
// Decision: ADR 0035.
package httprule
