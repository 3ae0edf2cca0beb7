// Package ussdpeople is what operators, and people at their own browser, do with
// accounts of telephones: find, close, erase and move them, and tell their owners
// one-time codes.
//
// What it promises. Every deed is noted with who did it and when, in the same
// transaction. A code is shown once, kept as a keyed hash, and good for minutes, for
// one account, for one purpose and once; guesses at it are rationed where they are
// made, in package ussd. Closing an account forgets its PIN; erasing one leaves a
// receipt that names nobody.
//
// What it refuses. It sets no PIN: that takes the account's own telephone. It shows
// no telephone number whole.
package ussdpeople
