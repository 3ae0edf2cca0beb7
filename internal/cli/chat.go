package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/cli/termmark"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/oracleclient"
)

func chatCommand() command {
	return command{
		name: "chat", args: "[--server URL] [--key FILE] [--message TEXT] [SESSION]",
		summary: "talk to the oracle; Ctrl-C stops an answer, Ctrl-D ends", run: runChat,
	}
}

func runChat(ctx context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("chat", s)
	server := shell.ServerFlag(fs, s)
	key := shell.KeyFlag(fs, s)
	one := fs.String("message", "", "send one `TEXT`, print the answer and end")
	rest, err := shell.ParseMixed(fs, args)
	if err != nil {
		return err
	}
	if len(rest) > 1 {
		return shell.Usagef("name at most one session")
	}
	signer, err := firstSigner(*key, s)
	if err != nil {
		return err
	}
	client, err := oracleclient.New(ctx, oracleclient.Config{Server: *server, Signer: signer})
	if err != nil {
		return err
	}
	c := &chat{client: client, io: s, shows: func(text string) { _, _ = io.WriteString(s.Out, text) }, ends: func() {}}
	if s.Terminal() {
		marks := termmark.New(s.Out)
		c.shows = func(text string) { _ = marks.WriteString(text) }
		c.ends = func() { _ = marks.Close() }
	}
	if len(rest) == 1 {
		c.session = rest[0]
		err = c.showHistory(ctx)
		if refused, ok := errors.AsType[*oracleclient.StatusError](err); ok && refused.Status == http.StatusNotFound {
			return fmt.Errorf("there is no session %q of yours; a text is sent with --message: %w", rest[0], err)
		}
	} else {
		c.session, err = client.CreateSession(ctx)
	}
	if err != nil {
		return err
	}
	if *one != "" {
		return c.ask(ctx, *one)
	}
	_, _ = fmt.Fprintf(s.Err, "Session %s. Type a message; an empty line is ignored, Ctrl-D ends.\n", c.session)
	return c.loop(ctx)
}

// firstSigner reads somebody's key. Whoever names none and has none gets one: a
// newcomer has nothing to lose yet. A key that was named and is not there is a
// mistake, and nobody becomes another person by a mistake.
func firstSigner(name string, s shell.IO) (did.Signer, error) {
	signer, err := shell.OwnSigner(name, s)
	if err == nil || name != shell.DefaultKeyFile || !errors.Is(err, os.ErrNotExist) {
		return signer, err
	}
	if signer, err = did.NewSigner(); err != nil {
		return did.Signer{}, err
	}
	if err := shell.WriteNew(name, signer.PrivateText()+"\n"); err != nil {
		return did.Signer{}, fmt.Errorf("write key: %w", err)
	}
	_, _ = fmt.Fprintf(s.Err, "You had no key yet: yours is in %s. Whoever has this file is you: keep it secret and back it up.\n", name)
	return signer, nil
}

// chat is one conversation in a terminal.
type chat struct {
	client  *oracleclient.Client
	session string
	io      shell.IO
	// shows prints what the oracle writes, and ends what it began.
	shows func(string)
	ends  func()
	// bare is set while the answer's line has no text yet.
	bare bool
}

func (c *chat) showHistory(ctx context.Context) error {
	list, err := c.client.History(ctx, c.session)
	for _, m := range list {
		if m.Type == string(oracle.Human) {
			_, _ = fmt.Fprintf(c.io.Out, "> %s\n", shell.Printable(m.Content))
			continue
		}
		c.shows(shell.Printable(m.Content))
		c.ends()
		_, _ = io.WriteString(c.io.Out, "\n")
	}
	return err
}

func (c *chat) loop(ctx context.Context) error {
	in := bufio.NewScanner(c.io.In)
	in.Buffer(make([]byte, 64<<10), 1<<20)
	for {
		if c.io.Terminal() {
			_, _ = io.WriteString(c.io.Out, "> ")
		}
		if !in.Scan() {
			return in.Err()
		}
		text := strings.TrimSpace(in.Text())
		if text == "" {
			continue
		}
		if err := c.ask(ctx, text); err != nil {
			_, _ = fmt.Fprintf(c.io.Err, "castalia chat: %v\n", err)
			if ctx.Err() != nil {
				return err
			}
		}
	}
}

// ask sends a message and prints the answer as it comes. Ctrl-C stops the
// answer, not the program.
func (c *chat) ask(ctx context.Context, text string) error {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	over := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-over:
		case <-interrupts:
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			_ = c.client.Abort(ctx, c.session) // the answer tells whether it worked
		}
	}()
	defer func() { close(over); <-stopped }()
	c.bare = true
	var failure error
	err := c.client.Ask(ctx, c.session, text, time.Local.String(), func(f oracle.Frame) {
		if err := c.show(f); err != nil {
			failure = err
		}
	})
	c.ends()
	_, _ = io.WriteString(c.io.Out, "\n")
	return errors.Join(err, failure)
}

// show prints one frame.
func (c *chat) show(f oracle.Frame) error {
	switch f.Event {
	case oracle.FrameMessage:
		var m oracle.MessageFrame
		if err := json.Unmarshal(f.Data, &m); err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
		c.bare = false
		c.shows(shell.Printable(m.Content))
	case oracle.FrameToolCall, oracle.FrameActionCall:
		var t oracle.ToolCallPayload
		if json.Unmarshal(f.Data, &t) == nil && c.io.ErrTerminal() {
			_, _ = fmt.Fprintf(c.io.Err, "[%s %s]\n", shell.OneLine(t.ToolName), shell.OneLine(string(t.Status)))
		}
	case oracle.FrameRun:
		var r oracle.RunFrame
		if json.Unmarshal(f.Data, &r) == nil && r.Resumed && !c.bare {
			c.ends()
			_, _ = io.WriteString(c.io.Out, "\n[the server was restarted; the answer goes on]\n")
		}
	case oracle.FrameError:
		var e oracle.ErrorFrame
		if json.Unmarshal(f.Data, &e) == nil {
			return errors.New(shell.Printable(e.Error))
		}
	case oracle.FrameDone:
		var d oracle.DoneFrame
		if json.Unmarshal(f.Data, &d) == nil && d.Aborted {
			c.ends()
			_, _ = io.WriteString(c.io.Out, " [stopped]")
		}
	}
	return nil
}
