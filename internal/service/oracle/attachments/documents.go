package attachments

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/ledongthuc/pdf"
)

// Documents reads the text of a document: more than limit bytes of it when there
// are more, so that whoever cuts it can say so. Its errors may be shown to the
// user when they are a problem.
type Documents func(ctx context.Context, data []byte, limit int) (string, error)

// Bounds of the work that a document can make.
const (
	maxPages       = 200
	documentTime   = 10 * time.Second
	maxDocument    = 64 << 20
	documentStack  = 64 << 20
	documentMemory = 512 << 20
)

// The exit codes of a process that reads a document; any other means that the
// document was too much for it.
const (
	exitRead    = 0
	exitBroken  = 1
	exitProblem = 3 // its output says which
)

// Apart reads each document in a process of its own. The reader is not made for
// hostile files: one that leads it in circles ends the whole program, and no
// recover helps. The command gets the limit as its last argument and the document
// as its input, and calls ReadDocument. It is given nothing of the environment.
func Apart(command ...string) Documents {
	places := make(chan struct{}, max(1, runtime.NumCPU()/2))
	return func(ctx context.Context, data []byte, limit int) (string, error) {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		case <-ctx.Done():
			return "", errTooSlow
		}
		ctx, cancel := context.WithTimeout(ctx, documentTime)
		defer cancel()
		args := append(command[1:len(command):len(command)], strconv.Itoa(limit))
		cmd := exec.CommandContext(ctx, command[0], args...) //nolint:gosec // this program itself
		cmd.Env = []string{"GOMAXPROCS=2", "GOTRACEBACK=none"}
		cmd.Stdin = bytes.NewReader(data)
		out := &strings.Builder{}
		cmd.Stdout = &most{out, 2*limit + 4096}
		cmd.WaitDelay = time.Second
		err := cmd.Run()
		exit, ended := errors.AsType[*exec.ExitError](err)
		switch {
		case err == nil:
			return out.String(), nil
		case ctx.Err() != nil:
			return "", errTooSlow
		case ended && exit.ExitCode() == exitProblem:
			return "", problem(out.String())
		case ended:
			return "", problem("the document is damaged")
		}
		return "", fmt.Errorf("read document apart: %w", err)
	}
}

const errTooSlow = problem("the document takes too long to read")

// most is a writer that takes so much and no more.
type most struct {
	to   io.Writer
	left int
}

// Write refuses what is too much.
func (m *most) Write(p []byte) (int, error) {
	if m.left -= len(p); m.left < 0 {
		return 0, errors.New("the reader of a document says too much")
	}
	return m.to.Write(p)
}

// ReadDocument is the other end of Apart: it reads one document and returns the
// exit code of the process, which it has for itself and ends when that takes too
// much.
func ReadDocument(in io.Reader, out io.Writer, limit int) int {
	debug.SetMaxStack(documentStack)
	go func() {
		for tick := time.Tick(20 * time.Millisecond); ; <-tick {
			var m runtime.MemStats
			if runtime.ReadMemStats(&m); m.Sys > documentMemory {
				panic("the document takes too much memory")
			}
		}
	}()
	data, err := io.ReadAll(io.LimitReader(in, maxDocument))
	if err != nil {
		return exitBroken
	}
	text, err := pdfText(data, limit)
	if err != nil {
		_, _ = io.WriteString(out, err.Error())
		return exitProblem
	}
	if _, err := io.WriteString(out, text); err != nil {
		return exitBroken
	}
	return exitRead
}

// pdfText reads the text of a document.
func pdfText(data []byte, limit int) (text string, err error) {
	defer func() {
		if recover() != nil {
			err = problem("the document is damaged")
		}
	}()
	r, err := pdf.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return "", problem("the document is damaged or locked")
	}
	var b strings.Builder
	for i := 1; i <= min(r.NumPage(), maxPages) && b.Len() <= limit; i++ {
		if text, err := r.Page(i).GetPlainText(nil); err == nil {
			text = strings.TrimSpace(text)
			b.WriteString(text[:min(len(text), 2*limit)])
			b.WriteByte('\n')
		}
	}
	if text = strings.TrimSpace(b.String()); text == "" {
		return "", problem("the document holds no text")
	}
	return text[:min(len(text), 2*limit)], nil
}
