// Package socket holds our socket.io server to the clients of others: the real
// socket.io client of npm over polling, WebSocket and the upgrade between them,
// at the plain server and at the oracle's gateway; and, where they are at hand,
// the official suites of the Engine.IO 4 and Socket.IO 5 protocols. Its tests in
// JavaScript and their lock file are in test/interop/socketio. It has no code
// that others may use.
package socket
