// Package faults breaks a fleet on purpose and checks that it kept its word.
//
// A World is three nodes of the real program, a PostgreSQL, an S3 server and a
// NATS server, each in a network namespace of its own. A Plan, made from a seed
// alone, says what is taken away from whom and when. Clients work all the while
// and write down what they were told. When everything has been given back, the
// checker compares what they were told with what is there: Check is a pure
// function of that Evidence, and has tests of its own.
//
// Namespaces and mounts belong to one thread of this process and go away with
// it, also when it is killed. Nothing outside is touched, and nothing here works
// without root on Linux.
//
// Decision: ADR 0070.
package faults
