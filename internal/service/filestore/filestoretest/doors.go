package filestoretest

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoreclient"
	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
)

// Rest is the door over REST. Next gives the client of each step, so that the
// steps can go to several nodes in turn.
type Rest struct {
	T    testing.TB
	Next func() *filestoreclient.Client
}

func (d Rest) ctx() context.Context { return d.T.Context() }

// Create implements Door.
func (d Rest) Create(path, text string) (string, error) {
	f, err := d.Next().Create(d.ctx(), path, "text/plain", strings.NewReader(text), int64(len(text)))
	return f.CID, err
}

// Replace implements Door.
func (d Rest) Replace(path, text string) (string, error) {
	f, err := d.Next().Put(d.ctx(), path, "text/plain", strings.NewReader(text), int64(len(text)), cid.CID{})
	return f.CID, err
}

// Read implements Door.
func (d Rest) Read(path string) (string, error) {
	var b bytes.Buffer
	_, err := d.Next().Get(d.ctx(), path, 0, &b)
	return b.String(), err
}

// Edit implements Door.
func (d Rest) Edit(path, old, replacement string) error {
	f, err := d.Next().Stat(d.ctx(), path)
	if err != nil {
		return err
	}
	_, err = d.Next().Edit(d.ctx(), f.ID, filestorehttp.EditBody{OldString: old, NewString: replacement})
	return err
}

// Move implements Door.
func (d Rest) Move(from, to string) error {
	_, err := d.Next().Move(d.ctx(), from, to, false)
	return err
}

// Remove implements Door.
func (d Rest) Remove(path string) error {
	_, err := d.Next().Remove(d.ctx(), path)
	return err
}

// Children implements Door.
func (d Rest) Children(folder string) ([]string, error) {
	nodes, err := d.Next().Tree(d.ctx(), folder)
	var out []string
	for _, n := range nodes {
		out = append(out, n.Path)
	}
	return out, err
}

// Versions implements Door.
func (d Rest) Versions(path string) (int, error) {
	all, err := d.Next().Versions(d.ctx(), path)
	return len(all), err
}

// Agent is the door over MCP. Next gives the session of each step.
type Agent struct {
	T    testing.TB
	Next func() *mcp.ClientSession
}

// args are the arguments of a tool.
type args = map[string]any

func (d Agent) call(name string, in args) (string, error) {
	r, err := d.Next().CallTool(d.T.Context(), &mcp.CallToolParams{Name: name, Arguments: in})
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			text.WriteString(t.Text)
		}
	}
	if r.IsError {
		return "", errors.New(text.String())
	}
	return text.String(), nil
}

// write calls vfs_write and finds the CID that it reports.
func (d Agent) write(in args) (string, error) {
	text, err := d.call("vfs_write", in)
	_, rest, _ := strings.Cut(text, "cid: ")
	found, _, _ := strings.Cut(rest, "\n")
	return found, err
}

// Create implements Door.
func (d Agent) Create(path, text string) (string, error) {
	return d.write(args{"path": path, "content": text})
}

// Replace implements Door.
func (d Agent) Replace(path, text string) (string, error) {
	return d.write(args{"path": path, "content": text, "overwrite": true})
}

// Read implements Door.
func (d Agent) Read(path string) (string, error) {
	out, err := d.call("vfs_read", args{"path": path})
	var text strings.Builder
	for line := range strings.Lines(out) {
		_, plain, _ := strings.Cut(line, "\t")
		text.WriteString(plain)
	}
	return text.String(), err
}

// Edit implements Door.
func (d Agent) Edit(path, old, replacement string) error {
	_, err := d.call("vfs_edit", args{"path": path, "oldString": old, "newString": replacement})
	return err
}

// Move implements Door.
func (d Agent) Move(from, to string) error {
	_, err := d.call("vfs_move", args{"from": from, "to": to})
	return err
}

// Remove implements Door.
func (d Agent) Remove(path string) error {
	_, err := d.call("vfs_delete", args{"paths": []string{path}})
	return err
}

// Children implements Door.
func (d Agent) Children(folder string) ([]string, error) {
	out, err := d.call("vfs_list", args{"path": folder})
	var names []string
	for line := range strings.Lines(out) {
		if name, ok := strings.CutPrefix(line, "- "); ok {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names, err
}

// Versions implements Door.
func (d Agent) Versions(path string) (int, error) {
	out, err := d.call("vfs_versions", args{"path": path})
	if err != nil {
		return 0, err
	}
	count, _, _ := strings.Cut(out, " ")
	return strconv.Atoi(count)
}
