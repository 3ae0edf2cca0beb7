package cli

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdnumber"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdscript"
)

func dialCommand() command {
	return command{
		name: "dial", args: "[--server URL] [--phone NUMBER] [--session ID] [--script FILE [--token TOKEN|--key FILE]] CODE",
		summary: "a telephone in the terminal; --script plays a flow file", run: runDial,
	}
}

func runDial(ctx context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("dial", s)
	desk := shell.NewDesk(fs, s, "/operator/ussd") // a script may name screens, which operators see
	phone := fs.String("phone", "+254700000001", "the telephone's E.164 `NUMBER`")
	session := fs.String("session", "", "session `ID`; default is a new one")
	script := fs.String("script", "", "play a flow `FILE` and compare")
	rest, err := shell.ParseMixed(fs, args)
	if err != nil {
		return err
	}
	if !ussdnumber.ValidPhone(*phone) {
		return shell.Usagef("--phone: %q is not a telephone number: it begins with + and the country code, such as +254700000001", *phone)
	}
	line := &remoteLine{
		base: desk.Server(), desk: desk, client: &http.Client{Timeout: 15 * time.Second}, err: s.Err,
	}
	if *script != "" {
		return dialScript(ctx, *script, line, s)
	}
	if len(rest) != 1 {
		return shell.Usagef("name the code to dial, such as '*2233#'")
	}
	code, text, err := splitCode(rest[0])
	if err != nil {
		return err
	}
	if *session == "" {
		*session = "dial-" + rand.Text()
	}
	return talk(ctx, line, *session, code, *phone, text, s)
}

// splitCode cuts *2233*1*2# into the service code *2233# and the inputs 1*2.
func splitCode(dialled string) (code, text string, err error) {
	if !ussdnumber.ValidServiceCode(dialled) {
		return "", "", shell.Usagef("%q is not a USSD code: it begins with *, has digits separated by *, and ends with #", dialled)
	}
	first, rest, _ := strings.Cut(strings.Trim(dialled, "*#"), "*")
	return "*" + first + "#", rest, nil
}

// talk is the telephone: it shows a screen and sends what is typed, until the
// gateway ends the session.
func talk(ctx context.Context, line *remoteLine, session, code, phone, text string, s shell.IO) error {
	in := bufio.NewScanner(s.In)
	people := s.Terminal()
	for {
		answer, err := line.Send(ctx, session, code, phone, text)
		if err != nil {
			return err
		}
		word, screen, _ := strings.Cut(answer, " ")
		if word != "CON" && word != "END" {
			return fmt.Errorf("the gateway answered %q, which begins with neither CON nor END", answer)
		}
		showScreen(s.Out, screen, people, word == "END")
		if word == "END" {
			return nil
		}
		if people {
			_, _ = fmt.Fprint(s.Out, "> ")
		}
		if !in.Scan() {
			_, _ = fmt.Fprintln(s.Out)
			return in.Err()
		}
		input := strings.TrimSpace(in.Text())
		if text == "" {
			text = input
		} else {
			text += "*" + input
		}
	}
}

// showScreen draws a screen as a telephone would, or prints it plainly for
// programs.
func showScreen(w io.Writer, screen string, people, end bool) {
	if !people {
		_, _ = fmt.Fprintf(w, "%s\n\n", screen)
		return
	}
	const width = 36
	_, _ = fmt.Fprintf(w, "\n  ╭%s╮\n", strings.Repeat("─", width+2))
	for paragraph := range strings.SplitSeq(screen, "\n") {
		for _, row := range wrapLine(paragraph, width) {
			_, _ = fmt.Fprintf(w, "  │ %s%s │\n", row, strings.Repeat(" ", width-utf8.RuneCountInString(row)))
		}
	}
	_, _ = fmt.Fprintf(w, "  ╰%s╯\n", strings.Repeat("─", width+2))
	if end {
		_, _ = fmt.Fprintln(w, "  session ended")
	}
}

// wrapLine breaks a line between words, or inside a word that is too long.
func wrapLine(s string, width int) []string {
	var rows []string
	row := ""
	for word := range strings.FieldsSeq(s) {
		for utf8.RuneCountInString(word) > width {
			if row != "" {
				rows, row = append(rows, row), ""
			}
			runes := []rune(word)
			rows, word = append(rows, string(runes[:width])), string(runes[width:])
		}
		switch {
		case row == "":
			row = word
		case utf8.RuneCountInString(row)+1+utf8.RuneCountInString(word) > width:
			rows, row = append(rows, row), word
		default:
			row += " " + word
		}
	}
	return append(rows, row)
}

func dialScript(ctx context.Context, file string, line *remoteLine, s shell.IO) error {
	flows, err := ussdscript.ReadFile(file)
	if err != nil {
		return err
	}
	failed := 0
	for _, flow := range flows.Flows {
		if flow.OwnAnswers() {
			_, _ = fmt.Fprintf(s.Out, "skip  %s: it says what the oracle answers, so only `menu test` plays it\n", flow.Name)
			continue
		}
		err := flows.Run(ctx, flow, line, nil)
		if _, ok := errors.AsType[*ussdscript.StepError](err); ok {
			failed++
			_, _ = fmt.Fprintf(s.Out, "FAIL  %v\n", err)
			continue
		}
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(s.Out, "ok    %s, %d steps\n", flow.Name, len(flow.Steps))
	}
	if failed > 0 {
		return shell.ExitError(1)
	}
	return nil
}

// remoteLine speaks to a gateway over HTTP.
type remoteLine struct {
	base   string
	desk   *shell.Desk
	client *http.Client
	err    io.Writer // hears of waits
}

var _ ussdscript.Line = (*remoteLine)(nil)

// Send implements ussdscript.Line.
func (l *remoteLine) Send(ctx context.Context, sessionID, code, phone, text string) (string, error) {
	body, err := json.Marshal(map[string]string{"sessionId": sessionID, "serviceCode": code, "phoneNumber": phone, "text": text})
	if err != nil {
		return "", err
	}
	for tries := 1; ; tries++ {
		reply, err := l.post(ctx, body)
		if err != nil {
			return "", err
		}
		wait, _ := strconv.Atoi(reply.retryAfter)
		switch {
		case reply.status == http.StatusOK:
			return string(reply.body), nil
		case reply.status != http.StatusTooManyRequests || tries == 3 || wait > 60:
			return "", fmt.Errorf("%s/api/ussd answers %d: %s", l.base, reply.status, reply.body)
		}
		// The request was not taken, so it can be sent again.
		_, _ = fmt.Fprintf(l.err, "the gateway takes no more requests for %d s (RATE_LIMIT_PER_MINUTE); waiting\n", max(wait, 1))
		select {
		case <-time.After(time.Duration(max(wait, 1)) * time.Second):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// Screen implements ussdscript.Line.
func (l *remoteLine) Screen(ctx context.Context, sessionID string) (string, error) {
	var record struct {
		DebugInfo struct {
			Context struct {
				Screen string `json:"screen"`
			} `json:"context"`
		} `json:"debugInfo"`
	}
	if err := l.desk.Ask(ctx, http.MethodGet, "/debug/"+url.PathEscape(sessionID), nil, &record); err != nil {
		return "", fmt.Errorf("%w (%w)", ussdscript.ErrNoScreens, err)
	}
	return record.DebugInfo.Context.Screen, nil
}

// heard is what came back.
type heard struct {
	status     int
	retryAfter string
	body       []byte
}

func (l *remoteLine) post(ctx context.Context, body []byte) (heard, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.base+"/api/ussd", bytes.NewReader(body))
	if err != nil {
		return heard{}, fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := l.client.Do(req)
	if err != nil {
		return heard{}, fmt.Errorf("no gateway at %s (is `castalia serve` running?): %w", l.base, err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return heard{}, fmt.Errorf("read answer: %w", err)
	}
	return heard{resp.StatusCode, resp.Header.Get("Retry-After"), answer}, nil
}
