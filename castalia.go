// Package castalia is the program itself, for those who build one with plugins
// of their own:
//
//	package main
//
//	import (
//		"github.com/castalia-org/castalia"
//		"example.org/oracle/hello"
//	)
//
//	func main() { castalia.Main(&hello.Hello{}) }
//
// What it builds is castalia with every command, and with the given plugins
// beside those that are shipped: their settings are in `castalia config`, and
// FEATURES switches them. Package plugin is the contract that they keep.
package castalia

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/castalia-org/castalia/internal/cli"
	"github.com/castalia-org/castalia/plugin"
)

// Main runs the command line of the process and ends the process with its exit
// code. It takes over the process: its arguments, its environment, its streams
// and its signals.
func Main(plugins ...plugin.Plugin) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Run(ctx, os.Args[1:], cli.IO{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Environ(), Plugins: plugins,
	})
	stop()
	os.Exit(code)
}
