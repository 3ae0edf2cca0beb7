// Package oracle is the chat core: sessions, messages, runs, and the events
// that tell open pages what happens.
//
// It promises that an acknowledged message is stored, that a turn is in the
// transcript before its stream says done, that every run ends with done, and
// that nobody learns whether another user's session exists: an unknown session
// and a foreign one fail alike. It refuses anything that it would have to
// guess: unknown fields, sessions that it did not make, results for calls that
// it did not send.
//
// The package is pure. Storage is a Store (oraclesql), HTTP is oraclehttp,
// sockets are oraclesocket; run keeps the log of a turn, agent thinks.
package oracle
