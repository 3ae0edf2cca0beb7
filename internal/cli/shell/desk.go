package shell

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/identity/apiclient"
	"github.com/castalia-org/castalia/internal/identity/operators"
)

const (
	// deskTime bounds one request of a desk that is not a stream.
	deskTime = 30 * time.Second
	// deskAnswer bounds an answer that is not a stream.
	deskAnswer = 16 << 20
	// tokenLife is for how long a request that a key signs counts.
	tokenLife = 5 * time.Minute
)

// ErrNoOperator is a server's refusal of whoever has no part in running it.
var ErrNoOperator = errors.New("the server does not take you for an operator: give --token or OPERATOR_TOKEN, or --key of a DID that has a role")

// Desk is where an operator sits: it asks the operators' routes of a server, with the operators'
// token, or as a DID that has a role.
type Desk struct {
	server, token, key *string
	flags              *flag.FlagSet
	root               string
	io                 IO
}

// NewDesk registers the flags of a desk that asks below a path.
func NewDesk(fs *flag.FlagSet, s IO, root string) *Desk {
	return &Desk{
		server: ServerFlag(fs, s), token: fs.String("token", s.Getenv("OPERATOR_TOKEN"), "operator `TOKEN` (OPERATOR_TOKEN)"),
		key: fs.String("key", "", "key `FILE` of a DID that has a role, in place of the token"), flags: fs, root: root, io: s,
	}
}

// Asks reports whether the call names one of these flags of the desk: then a running server is
// asked, where the command could work on records of its own.
func (d *Desk) Asks(by ...string) bool {
	asks := false
	d.flags.Visit(func(f *flag.Flag) { asks = asks || slices.Contains(by, f.Name) })
	return asks
}

// Server is where the desk asks, without a slash at its end.
func (d *Desk) Server() string { return strings.TrimRight(*d.server, "/") }

// sign says who asks. A token is made for each request, and for this server alone.
func (d *Desk) sign(ctx context.Context, req *http.Request) error {
	bearer := *d.token
	if *d.key != "" {
		signer, err := ReadSigner(*d.key, d.io)
		if err != nil {
			return err
		}
		who, err := apiclient.New(apiclient.Config{Server: d.Server(), Signer: signer})
		if err != nil {
			return err
		}
		bearer, err = who.Token(ctx, tokenLife, apiclient.All(operators.OperatorResource))
		if err != nil {
			return err
		}
		req.Header.Set("X-Auth-Type", "ucan")
	}
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	return nil
}

// Ask sends a request and reads its answer.
func (d *Desk) Ask(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, deskTime)
	defer cancel()
	resp, err := d.Send(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, deskAnswer)).Decode(out); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return nil
}

// Send sends a request, with headers as names and values. An answer that is returned is
// one of success.
func (d *Desk) Send(ctx context.Context, method, path string, in any, header ...string) (*http.Response, error) {
	var body io.Reader = http.NoBody
	if in != nil {
		packed, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(packed)
	}
	req, err := http.NewRequestWithContext(ctx, method, d.Server()+d.root+path, body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	if err := d.sign(ctx, req); err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("no server at %s (is `castalia serve` running?): %w", d.Server(), err)
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusUnauthorized {
		return nil, ErrNoOperator
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, deskAnswer))
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	var problem struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(answer, &problem) == nil && problem.Message != "" {
		return nil, errors.New(problem.Message)
	}
	return nil, fmt.Errorf("the server answers %d: %s", resp.StatusCode, answer)
}

// At returns the desk below another path of the same server.
func (d *Desk) At(root string) *Desk {
	other := *d
	other.root = root
	return &other
}
