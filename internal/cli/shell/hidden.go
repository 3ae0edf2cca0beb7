package shell

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// ErrStopped is for who ended the program instead of answering.
var ErrStopped = errors.New("stopped at the keyboard")

// Hidden asks for secrets at the terminal. Nothing that is typed is shown from when it is
// opened until it is closed: not between two questions either, when several lines are pasted.
type Hidden struct {
	fd   int
	old  *term.State
	line *term.Terminal
}

// OpenHidden takes over the terminal; its owner has to close it.
func OpenHidden(s IO) (*Hidden, error) {
	in, ok := s.In.(*os.File)
	if !ok {
		return nil, errors.New("there is no terminal to ask at")
	}
	fd := int(in.Fd())
	old, err := term.MakeRaw(fd)
	if err != nil {
		return nil, fmt.Errorf("ask at the terminal: %w", err)
	}
	both := struct {
		io.Reader
		io.Writer
	}{in, s.Err}
	return &Hidden{fd: fd, old: old, line: term.NewTerminal(both, "")}, nil
}

// Ask reads a line. The keys that end a program end the answer.
func (h *Hidden) Ask(prompt string) (string, error) {
	text, err := h.line.ReadPassword(prompt)
	if errors.Is(err, io.EOF) {
		err = ErrStopped
	}
	return text, err
}

// Say writes a line that everybody may see.
func (h *Hidden) Say(text string) { _, _ = fmt.Fprintln(h.line, text) }

// Close gives the terminal back.
func (h *Hidden) Close() { _ = term.Restore(h.fd, h.old) }
