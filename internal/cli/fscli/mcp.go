package fscli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/protocol/sse"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoreclient"
)

// How the command is called, and what it is for.
const (
	MCPUsage   = "[--server URL] [--key FILE] [--proof T|@F]"
	MCPSummary = "bridge standard input and output to /mcp, for desktop agents"
)

// Bounds of the bridge: the longest message, messages under way, the life of a token.
const (
	maxMessage  = 16 << 20
	maxInFlight = 16
	bridgeToken = time.Hour
)

// bridge carries JSON-RPC messages, one a line, to the server and back.
type bridge struct {
	client *filestoreclient.Client
	url    string
	http   *http.Client
	mu     sync.Mutex
	out    io.Writer
	token  string
	until  time.Time
	// version is what the handshake agreed on, for the older protocols.
	version string
}

// RunMCP runs `castalia mcp`.
func RunMCP(ctx context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("mcp", s)
	connect := remoteFlags(fs, s)
	if err := shell.ParseFlags(fs, args); err != nil {
		return err
	}
	r, err := connect()
	if err != nil {
		return err
	}
	b := &bridge{client: r.Client, url: r.server + "/mcp", http: &http.Client{}, out: s.Out}
	return b.run(ctx, s.In)
}

func (b *bridge) run(ctx context.Context, in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), maxMessage)
	slots := make(chan struct{}, maxInFlight)
	var running sync.WaitGroup
	defer running.Wait()
	for lines.Scan() {
		line := bytes.TrimSpace(bytes.Clone(lines.Bytes()))
		if len(line) == 0 {
			continue
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			b.fail(nil, -32700, "the line is not a JSON-RPC message")
			continue
		}
		send := func() {
			if err := b.send(ctx, line, m); err != nil && m.ID != nil {
				b.fail(m.ID, -32603, err.Error())
			}
		}
		if m.Method == "initialize" {
			send() // what follows needs what it agrees on
			continue
		}
		slots <- struct{}{}
		running.Go(func() { defer func() { <-slots }(); send() })
	}
	return lines.Err()
}

// message is what the bridge must know of a message.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name string                     `json:"name"`
		URI  string                     `json:"uri"`
		Meta map[string]json.RawMessage `json:"_meta"`
	} `json:"params"`
}

// send posts a message and writes what comes back.
func (b *bridge) send(ctx context.Context, line []byte, m message) error {
	token, err := b.bearer(ctx)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url, bytes.NewReader(line))
	if err != nil {
		return err
	}
	h := r.Header
	h.Set("Authorization", "Bearer "+token)
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	var version string
	if json.Unmarshal(m.Params.Meta["io.modelcontextprotocol/protocolVersion"], &version) == nil {
		h.Set("Mcp-Method", m.Method)
		if name := m.Params.Name + m.Params.URI; name != "" {
			h.Set("Mcp-Name", name)
		}
	} else {
		b.mu.Lock()
		version = b.version
		b.mu.Unlock()
	}
	if version != "" {
		h.Set("Mcp-Protocol-Version", version)
	}
	res, err := b.http.Do(r)
	if err != nil {
		return fmt.Errorf("reach the server: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	return b.receive(res, m)
}

func (b *bridge) receive(res *http.Response, m message) error {
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		d := sse.NewDecoder(res.Body, maxMessage)
		for {
			e, err := d.Next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("read answer: %w", err)
			}
			if err := b.write(e.Data); err != nil {
				return err
			}
		}
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxMessage))
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	var said struct {
		JSONRPC string `json:"jsonrpc"`
		Message string `json:"message"`
		Result  struct {
			ProtocolVersion string `json:"protocolVersion"`
		} `json:"result"`
	}
	_ = json.Unmarshal(body, &said) // what is not JSON is told by its status
	switch {
	case said.JSONRPC != "":
		if m.Method == "initialize" {
			b.mu.Lock()
			b.version = said.Result.ProtocolVersion
			b.mu.Unlock()
		}
		return b.write(body)
	case res.StatusCode >= 400 && said.Message != "":
		return fmt.Errorf("%s (status %d)", said.Message, res.StatusCode)
	case res.StatusCode >= 400:
		return fmt.Errorf("the server answers with status %d", res.StatusCode)
	}
	return nil // accepted, nothing to say
}

// bearer returns a token, renewed well before it ends.
func (b *bridge) bearer(ctx context.Context) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Until(b.until) > bridgeToken/2 {
		return b.token, nil
	}
	token, err := b.client.Token(ctx, bridgeToken)
	if err != nil {
		return "", err
	}
	b.token, b.until = token, time.Now().Add(bridgeToken)
	return token, nil
}

// write puts one message on one line.
func (b *bridge) write(message []byte) error {
	var line bytes.Buffer
	if err := json.Compact(&line, message); err != nil {
		return fmt.Errorf("the server's message is not JSON: %w", err)
	}
	line.WriteByte('\n')
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err := b.out.Write(line.Bytes())
	return err
}

func (b *bridge) fail(id json.RawMessage, code int, text string) {
	if id == nil {
		id = json.RawMessage("null")
	}
	m, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": text}})
	if err == nil {
		_ = b.write(m) // nobody is left to tell
	}
}
