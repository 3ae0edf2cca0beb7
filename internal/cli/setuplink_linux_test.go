package cli_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/castalia-org/castalia/internal/cli"
)

// terminal opens a terminal: what is written to the one end is read at the other.
func terminal(t *testing.T) (screen, program *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if program, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return screen, program
}

// TestServeShowsTheSetupLinkOnATerminalAlone starts a server on a terminal, which
// shows a link, and one whose output goes elsewhere, which shows none.
func TestServeShowsTheSetupLinkOnATerminalAlone(t *testing.T) {
	t.Parallel()
	const link = "/console/setup#"
	data := filepath.Join(t.TempDir(), "data")
	quiet := serve(t, data)
	quiet.stop()
	if text := quiet.out.String() + quiet.err.String(); strings.Contains(text, link) {
		t.Errorf("a link where nobody sits:\n%s", text)
	}
	screen, out := terminal(t)
	ctx, stop := context.WithCancel(t.Context())
	log, ended := &stream{}, make(chan int, 1)
	go func() {
		ended <- cli.Run(ctx, []string{"serve", "--data", data, "--port", "0", "--set", "HOST=127.0.0.1"},
			cli.IO{In: strings.NewReader(""), Out: out, Err: log, Env: []string{"GOGC=100", "GOMAXPROCS=2", "NO_COLOR=1"}})
	}()
	lines := bufio.NewScanner(screen)
	for lines.Scan() && !strings.Contains(lines.Text(), link) {
	}
	stop()
	if code := <-ended; code != 0 || !strings.Contains(lines.Text(), "http://127.0.0.1:") {
		t.Errorf("%d: %q\n%s", code, lines.Text(), log)
	}
	if strings.Contains(log.String(), link) {
		t.Errorf("the log has the link:\n%s", log)
	}
}
