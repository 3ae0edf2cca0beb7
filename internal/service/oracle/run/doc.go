// Package run keeps the log of a turn and lets anybody who may read it follow
// it, from any node.
//
// A message starts a run. What the oracle says while it works are frames,
// numbered, appended in batches to the run's log and shown to readers only
// after they are durable. A reader is a cursor over that log: it can start
// anywhere, stop, and come back on another node; a slow one never slows the
// run. Each run is worked on by one node at a time. The node holds the run by a
// lease in the run's own row, and every write carries the lease's epoch, so
// that a node which lost the run cannot write to it any more. A run whose node
// died is taken over; its frames then continue at the next multiple of 1<<32.
//
// It promises that every run ends with a done frame, and that the turn is in
// the transcript before that frame can be read. It refuses to start a second
// turn beside a live one: a message waits, replaces it, or is refused.
//
// Decisions: ADR 0040, ADR 0166.
package run
