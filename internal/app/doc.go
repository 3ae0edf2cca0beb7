// Package app puts the program together: it opens the stores, builds each
// service on them, mounts their routes on one server and runs their workers.
//
// It holds no rules of its own. Each service has one file here, short enough to
// read at a glance; what a service needs of another is handed over in that
// file, through an interface that the needing service declares.
//
// Decisions: ADR 0001, ADR 0002, ADR 0244, ADR 0102.
package app
