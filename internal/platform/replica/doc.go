// Package replica copies a deployment of one machine to another place all the time,
// and fills an empty folder from there.
//
// The place is a blob.Store: a folder or a bucket. It holds the database as a base
// (the file as it was) and pieces of its log (the pages that were changed since,
// newest version each), objects under their own names, and for each generation a
// start. A generation is what one process wrote without a gap. It goes on where an
// earlier one ended, when the log on the disk shows that nothing is missing, else it
// begins with a base of its own. Each piece names the SHA-256 of the one before, so
// that none can be left out, and the start of a generation holds the key that opens
// its bases and pieces; who writes them cannot read them. A start is signed with the
// deployment's key. Objects are sealed already and are copied as they are.
//
// It promises:
//
//   - A base or a piece is stored only after every object that was stored before its
//     transactions were committed. So each is a state that can be restored.
//   - The database never waits for the place. When it is away for so long that the
//     log grows over a bound, the copy is given up and begun again with a new base.
//   - Two processes cannot mix their copies: who finds a newer generation than its own
//     stops and says so.
//   - Nothing is deleted from the place that a restore to a moment within the
//     retention needs, nor an object that a record names.
//
// It refuses a place that holds another deployment, and to restore what another key has
// signed or nobody has, or pieces that were changed, exchanged or left out. That the newest
// were deleted cannot be seen: the moment of what was restored tells. Times are those of the machine
// that wrote, and always grow within a generation.
//
// Decisions: ADR 0257, ADR 0280.
package replica
