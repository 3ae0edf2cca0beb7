// Package ship holds a release against what the install guide promises: each way
// to get the program is taken, and what was installed is used. It makes the
// release itself (`make test-dist`, in `make ci-long`), or takes the folder that
// CASTALIA_DIST names. Where a system cannot be started here, programs for it are
// compiled and their headers are read. The scripts that set up machines and write
// down the long run are tested here too.
package ship
