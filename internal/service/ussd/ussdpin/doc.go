// Package ussdpin keeps the PINs of telephone users and rations the guesses at
// them.
//
// What it promises. A stored PIN is a slow salted hash, sealed under
// PIN_ENCRYPTION_KEY and bound to its account, so that a record opens for no
// other. Slow hashes run a few at a time. Whatever stands for a secret or a
// telephone elsewhere is a keyed hash. A counter's failures since its last lock
// and the checks that have begun never exceed five, so that at most five wrong
// PINs are answered before a lock, and only answered ones lock.
//
// What it refuses. It stores nothing: the rows of attempts are the store's.
//
// Decision: ADR 0048.
package ussdpin
