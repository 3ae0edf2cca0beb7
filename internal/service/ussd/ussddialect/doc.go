// Package ussddialect reads the dialects of telecom gateways that are written as
// data: a YAML file says where a request has its fields and how an answer looks.
//
// What it promises. A file that is read answers every request with a valid
// continue or end of its dialect, whatever was sent: templates of JSON and XML are
// taken apart before they are used, values are escaped where they go, and a
// request that breaks a rule is an ussd.InvalidError that names the field. A file
// that could not keep this is refused, with its line and what to write instead.
//
// What it refuses. Dialects whose rules need code stay code (ussdhttp): several
// paths, numbers for sessions that have none. It speaks no HTTP itself: ussdhttp
// and the recorder of the command line give it what came.
//
// Decision: ADR 0049.
package ussddialect
