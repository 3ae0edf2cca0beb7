package servers

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// The ports that are handed out lie below those that the system gives to
// outgoing connections.
const (
	lowestPort  = 20000
	highestPort = 32000
)

// Port returns a port of 127.0.0.1 that is free, for a server that is about to
// be started and perhaps started again. No outgoing connection takes it in the
// meantime, as it would a port that the system chose; and until release is
// called no other test is given it.
func Port() (port int, release func(), err error) {
	for range 1000 {
		port = lowestPort + rand.N(highestPort-lowestPort)
		release, claimed := claim(port)
		if !claimed {
			continue
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			release() // something else listens there
			continue
		}
		if err := l.Close(); err != nil {
			release()
			return 0, nil, fmt.Errorf("give back port %d: %w", port, err)
		}
		return port, release, nil
	}
	return 0, nil, errors.New("no port is free")
}
