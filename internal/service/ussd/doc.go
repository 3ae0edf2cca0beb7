// Package ussd is the telephone session gateway: a telecom gateway calls it once
// for every input of a USSD session and gets back the next screen.
//
// What it promises. A session lives in the Store, never in the process alone, so
// any node continues it and a killed process loses none: an answer is given only
// after the hop that produced it is durable. An input moves a session at most
// once: the hop number is compared and set in the same transaction that stores
// the answer, and a retransmission gets the stored answer again. A telephone
// cannot continue another one's session. Every answer is there before the
// deadline, whatever hangs behind it.
//
// What it refuses. A PIN is never stored, logged or traced: the accumulated text,
// which contains it, is kept only as a length and a keyed hash. A PIN is
// checked only in a place that was taken, durably, before, and what the check
// found is told only by the hop that counts it. A menu that fails its check is
// not loaded.
//
// The menu itself is package ussdmenu; ussdpin keeps PINs and rations guesses;
// ussdsql keeps sessions and accounts; ussdhttp speaks to gateways and operators;
// ussdtest holds the contract of a Store and the flow files.
//
// Decisions: ADR 0045, ADR 0046.
package ussd
