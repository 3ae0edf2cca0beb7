// Package call is the live agent: voice and video calls between a user's page
// and the oracle.
//
// A call is a record (pending, active, ended; ended is final) and, on the one
// node that made it, a peer with which the page exchanges media. The package
// promises that the page can check whom it talks to before anything is heard:
// the fingerprint of the call's transport and a key for its frames are signed
// with the key of the oracle's DID. It promises that a call stands on a
// credential for its whole length and ends with it, that nobody learns whether
// a call of somebody else exists, that what is said lands in the session as an
// ordinary turn, and that a user who speaks is listened to: speech stops the
// oracle's voice and its work on the answer, of which the transcript keeps what was
// heard. Sound is forgotten as soon as it was
// understood, unless the caller asked for a recording: then both ends know, and
// both voices go into the caller's own files with the caller's leave, part by
// part, so that a node that dies costs the last part alone.
//
// The package is pure. Media is an Endpoint (callrtc), records are a Store
// (oraclesql), recordings go to an Archive (oraclekit), routes are callhttp, speech
// over HTTP is callspeech.
//
// Decisions: ADR 0062, ADR 0100, ADR 0208, ADR 0209.
package call
