// Package dialectcli has the commands for who connects a telecom gateway: dialect
// (shows and checks dialects that are data), record (writes down what a gateway
// sends, masked) and replay (has a dialect, or a server, read it again).
//
// It refuses to write down telephone numbers and what looks like a PIN: digits are
// replaced by others of the same length, the same ones for the same ones, so that
// a recording still replays.
package dialectcli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussddialect"
)

// Verbs are the subcommands of ussd that are here.
func Verbs() []string { return []string{"dialect", "record", "replay"} }

// Run runs one of the subcommands.
func Run(ctx context.Context, args []string, s shell.IO) error {
	switch args[0] {
	case "dialect":
		return runDialect(args[1:], s)
	case "record":
		return runRecord(ctx, args[1:], s)
	}
	return runReplay(ctx, args[1:], s)
}

func runDialect(args []string, s shell.IO) error {
	rest, err := shell.ParseMixed(shell.NewFlags("ussd dialect", s), args)
	if err != nil {
		return err
	}
	if len(rest) != 2 || rest[0] != "show" && rest[0] != "check" {
		return shell.Usagef("want: ussd dialect show NAME, or: ussd dialect check FILE")
	}
	if rest[0] == "show" {
		text, err := ussddialect.Shipped(rest[1])
		if err != nil {
			return err
		}
		_, err = s.Out.Write(text)
		return err
	}
	d, err := ussddialect.ReadFile(rest[1])
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "%s: %s /api/ussd/%s\n", rest[1], d.Method(), d.Name())
	return err
}

// Recorded is one request, as a line of a recording has it.
type Recorded struct {
	At      time.Time `json:"at"`
	Method  string    `json:"method"`
	Query   string    `json:"query,omitempty"`
	Media   string    `json:"media,omitempty"`
	Body    string    `json:"body,omitempty"`
	Headers []string  `json:"headers"` // names alone: values may be secrets
}

const (
	maxBody      = 16 << 10
	maxRecorded  = 1000
	requestLimit = 30 * time.Second
)

func runRecord(ctx context.Context, args []string, s shell.IO) error {
	flags := shell.NewFlags("ussd record", s)
	listen := flags.String("listen", "127.0.0.1:3999", "`ADDRESS` where the gateway calls")
	out := flags.String("out", "", "`FILE` for the recording; without it requests are only shown")
	file := flags.String("dialect", "", "`FILE` of the dialect to answer in, or the name of a shipped one; without it CON and a text")
	if err := shell.ParseFlags(flags, args); err != nil {
		return err
	}
	r := recorder{mask: newMask(), out: io.Discard, show: s.Out}
	if *file != "" {
		d, err := fileOrShipped(*file)
		if err != nil {
			return err
		}
		r.dialect = d
	}
	if *out != "" {
		f, err := os.OpenFile(*out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("make recording: %w", err)
		}
		defer func() { _ = f.Close() }()
		r.out = f
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	_, _ = fmt.Fprintf(s.Out, "recording at http://%s; dial with your own telephone and type made-up things\n", l.Addr())
	return r.serve(ctx, l)
}

type recorder struct {
	mask    *mask
	dialect *ussddialect.Dialect
	out     io.Writer
	show    io.Writer
}

func (r *recorder) serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	got := make(chan Recorded)
	server := &http.Server{
		ReadTimeout: requestLimit, WriteTimeout: requestLimit, MaxHeaderBytes: 2 * maxBody,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			in, err := readIncoming(w, req)
			if err != nil {
				http.Error(w, "too large", http.StatusRequestEntityTooLarge)
				return
			}
			select {
			case got <- r.recorded(req, in):
			case <-ctx.Done():
			}
			r.answer(w, in)
		}),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	defer func() { _ = server.Close() }()
	write := json.NewEncoder(r.out)
	for range maxRecorded {
		select {
		case one := <-got:
			if err := write.Encode(one); err != nil {
				return fmt.Errorf("write recording: %w", err)
			}
			_, _ = fmt.Fprintf(r.show, "%s %s %s\n  headers: %s\n", one.Method,
				strings.Join(nonEmpty(one.Query, one.Media), " "), one.Body, strings.Join(one.Headers, ", "))
		case err := <-ended:
			return fmt.Errorf("serve: %w", err)
		case <-ctx.Done():
			return nil
		}
	}
	return fmt.Errorf("%d requests are enough", maxRecorded)
}

func nonEmpty(all ...string) []string {
	var some []string
	for _, s := range all {
		if s != "" {
			some = append(some, s)
		}
	}
	return some
}

func readIncoming(w http.ResponseWriter, req *http.Request) (ussddialect.Incoming, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	return ussddialect.Incoming{Query: req.URL.RawQuery, Media: req.Header.Get("Content-Type"), Body: body}, err
}

func (r *recorder) recorded(req *http.Request, in ussddialect.Incoming) Recorded {
	one := Recorded{
		At: time.Now().UTC(), Method: req.Method, Query: r.mask.form(in.Query), Media: in.Media, Body: r.mask.body(in),
	}
	for name := range req.Header {
		one.Headers = append(one.Headers, name)
	}
	return one
}

func (r *recorder) answer(w http.ResponseWriter, in ussddialect.Incoming) {
	text := ussd.Answer{Text: "Recorded. Type something."}
	if r.dialect == nil {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, text.String())
		return
	}
	call, err := r.dialect.Read(in)
	text.End = err != nil || call.Over
	w.Header().Set("Content-Type", r.dialect.Media()+"; charset=utf-8")
	_, _ = w.Write(r.dialect.Answer(call, text))
}

// fileOrShipped reads the file of a dialect, or where there is none the shipped one of that name.
func fileOrShipped(name string) (*ussddialect.Dialect, error) {
	d, err := ussddialect.ReadFile(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return d, err
	}
	text, shippedErr := ussddialect.Shipped(name)
	if shippedErr != nil {
		return nil, errors.Join(err, shippedErr)
	}
	return ussddialect.Parse(name, text)
}

func runReplay(ctx context.Context, args []string, s shell.IO) error {
	flags := shell.NewFlags("ussd replay", s)
	file := flags.String("dialect", "", "`FILE` of the dialect that reads the recording, or the name of a shipped one")
	server := flags.String("server", "", "`URL` of a server that has the dialect, to send the recording to")
	rest, err := shell.ParseMixed(flags, args)
	if err != nil {
		return err
	}
	if len(rest) != 1 || *file == "" {
		return shell.Usagef("want: ussd replay RECORDING --dialect FILE [--server URL]")
	}
	d, err := fileOrShipped(*file)
	if err != nil {
		return err
	}
	f, err := os.Open(rest[0])
	if err != nil {
		return fmt.Errorf("open recording: %w", err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 8*maxBody)
	refused := 0
	for n := 1; lines.Scan(); n++ {
		var one Recorded
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return fmt.Errorf("%s:%d: it is not a recorded request: %w", rest[0], n, err)
		}
		if !replayed(s.Out, n, d, one) {
			refused++
		}
		if *server != "" {
			if err := send(ctx, s.Out, strings.TrimRight(*server, "/"), d, one); err != nil {
				return err
			}
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read recording: %w", err)
	}
	if refused > 0 {
		return fmt.Errorf("%d requests are refused: see request: in %s", refused, *file)
	}
	return nil
}

// replayed says how the dialect reads a request, and whether it does.
func replayed(w io.Writer, n int, d *ussddialect.Dialect, one Recorded) bool {
	call, err := d.Read(ussddialect.Incoming{Query: one.Query, Media: one.Media, Body: []byte(one.Body)})
	if err == nil && one.Method != d.Method() {
		err = fmt.Errorf("method must be %s, it is %s", d.Method(), one.Method)
	}
	if err == nil && !call.Over {
		err = call.Request.Validate()
	}
	if err != nil {
		_, _ = fmt.Fprintf(w, "%d refused: %v\n", n, err)
		return false
	}
	kind := "input"
	switch {
	case call.Over:
		kind = "over"
	case call.Request.Start, !call.Request.Newest && call.Request.Text == "":
		kind = "start"
	}
	q := call.Request
	_, _ = fmt.Fprintf(w, "%d %s session=%s phone=%s code=%s text=%q\n", n, kind, q.SessionID, q.Phone, q.ServiceCode, q.Text)
	return true
}

func send(ctx context.Context, w io.Writer, server string, d *ussddialect.Dialect, one Recorded) error {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	address := server + "/api/ussd/" + d.Name()
	if one.Query != "" {
		address += "?" + one.Query
	}
	req, err := http.NewRequestWithContext(ctx, d.Method(), address, strings.NewReader(one.Body))
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	if one.Media != "" {
		req.Header.Set("Content-Type", one.Media)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("no server at %s (is `castalia serve` running?): %w", server, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return errors.New("the server answers " + resp.Status)
	}
	_, err = fmt.Fprintf(w, "  %s\n", strings.ReplaceAll(string(body), "\n", "\n  "))
	return err
}
