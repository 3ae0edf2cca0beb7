// Command castalia is the whole of Castalia: server, tools and clients in one
// program. Everything it does is in internal/cli; this file only hands over the
// process: its arguments, its environment, its streams and its signals.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/castalia-org/castalia/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Run(ctx, os.Args[1:], cli.IO{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Environ(),
	})
	stop()
	os.Exit(code)
}
