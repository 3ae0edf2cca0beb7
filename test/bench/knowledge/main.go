// Command knowledge measures what the search index costs that knowledge, the guide
// and others use.
//
//	go run ./test/bench/knowledge [-passages 10000,100000,1000000] [-dir DIR]
//
// It writes an index of generated passages as a server has one, in sealed segments
// that were joined as often as a server joins them, opens it in a process of its own with a
// server's cache, and says what queries cost. Figures come as lines of
// `go test -bench`, so that test/bench can hold them against its bars. What search
// finds is measured by test/knowledge.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "knowledge:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == "ask" { // what the command runs in a process of its own
		if len(args) != 3 {
			return errors.New("ask needs a file and its number of passages")
		}
		return measureQueries(ctx, os.Stdin, stdout, args[1], args[2])
	}
	fs := flag.NewFlagSet("knowledge", flag.ContinueOnError)
	fs.SetOutput(stderr)
	passages := fs.String("passages", "10000,100000,1000000", "comma list of sizes")
	dir := fs.String("dir", "", "where to keep indexes; a temporary folder if empty")
	if err := fs.Parse(args); err != nil {
		return err
	}
	return measureSpeed(ctx, stdout, stderr, *passages, *dir)
}
