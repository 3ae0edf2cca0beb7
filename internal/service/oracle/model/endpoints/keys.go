package endpoints

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/platform/sealing"
	"github.com/castalia-org/castalia/internal/platform/yamlfile"
	"github.com/castalia-org/castalia/internal/service/oracle/model/anthropic"
	"github.com/castalia-org/castalia/internal/service/oracle/model/openai"
)

const (
	// sealedPrefix marks a key that only this deployment can read.
	sealedPrefix = "sealed:"
	maxKey       = 4 << 10
)

// Purpose is that of the sealer of keys: see sealing.Sealer.
const Purpose = "castalia model endpoints"

// resolve returns the text that a reference stands for.
func (c Config) resolve(what string, r Reference, from operatordoc.Source) (string, error) {
	switch {
	case !r.refers():
		return r.Text, nil
	case from == operatordoc.FromDatabase:
		return "", fmt.Errorf("%s: a stored document cannot refer to variables and files of the server: write the text itself (a key is sealed when it is stored)", what)
	case r.Env != "":
		text := strings.TrimSpace(c.Getenv(r.Env))
		if text == "" {
			return "", fmt.Errorf("%s: the variable %.80s is not set", what, r.Env)
		}
		return text, nil
	}
	f, err := os.Open(r.File)
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxKey+1))
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	if len(text) > maxKey {
		return "", fmt.Errorf("%s: the file %s has more than %d bytes", what, r.File, maxKey)
	}
	if out := strings.TrimSpace(string(text)); out != "" {
		return out, nil
	}
	return "", fmt.Errorf("%s: the file %s is empty", what, r.File)
}

// baseURL is the address of an endpoint, also where the document leaves it out.
func (c Config) baseURL(e Endpoint, from operatordoc.Source) (string, error) {
	base, err := c.resolve("base_url", e.BaseURL, from)
	if err != nil {
		return "", err
	}
	if base == "" {
		base = map[string]string{kindOpenAI: openai.DefaultBase, kindAnthropic: anthropic.DefaultBase}[e.Kind]
	}
	if !e.BaseURL.refers() { // what the server itself says may have a user in it
		if err := checkURL(base); err != nil {
			return "", err
		}
	}
	return strings.TrimRight(base, "/"), nil
}

// key is what an endpoint is opened with; empty is none.
func (c Config) key(e Endpoint, base string, from operatordoc.Source) (string, error) {
	text, err := c.resolve("key", e.Key, from)
	if err != nil || text == "" || e.Key.refers() {
		return text, err
	}
	sealed, ok := strings.CutPrefix(text, sealedPrefix)
	if !ok {
		return "", errors.New("key: a key does not stand in the document: write {env: NAME} or {file: PATH}")
	}
	data, err := base64.RawURLEncoding.DecodeString(sealed)
	if err == nil {
		data, err = c.Seal.Unseal(data, base)
	}
	if err != nil {
		return "", errors.New("key: it was sealed for another address or by another deployment: write the key itself again")
	}
	return string(data), nil
}

// sealKeys returns a document as it is stored: keys that stand in it are sealed
// for the address of their endpoint. All else stays as it was written.
func (c Config) sealKeys(text []byte) ([]byte, error) {
	d, err := read(text)
	if err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(string(text), "\n")
	for name, e := range d.Endpoints {
		key := e.Key.Text
		if key == "" || strings.HasPrefix(key, sealedPrefix) {
			continue
		}
		if len(key) > maxKey || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return nil, fmt.Errorf("endpoint %q: a key has letters, digits and signs only, at most %d", name, maxKey)
		}
		base, err := c.baseURL(e, operatordoc.FromDatabase)
		if err != nil {
			return nil, fmt.Errorf("endpoint %q: %w", name, err)
		}
		sealed, err := c.Seal.Seal([]byte(key), base)
		if err != nil {
			return nil, err
		}
		e.Key.Text = sealedPrefix + base64.RawURLEncoding.EncodeToString(sealed)
		if !replaceKey(text, lines, name, key, e.Key.Text) {
			return nil, fmt.Errorf("endpoint %q: write its key on one line, as key: \"…\"", name)
		}
		d.Endpoints[name] = e
	}
	out := []byte(strings.Join(lines, ""))
	if len(out) > MaxBytes {
		return nil, fmt.Errorf("with its keys sealed the text is larger than %d bytes", MaxBytes)
	}
	// Nothing may have changed but the keys, and none of those may be left.
	if again, err := read(out); err != nil || !reflect.DeepEqual(again, d) {
		return nil, errors.New("the keys cannot be sealed in this text: write each on one line, as key: \"…\", without anchors")
	}
	return out, nil
}

// replaceKey writes another key where the one of the endpoint stands.
func replaceKey(text []byte, lines []string, endpoint, old, sealed string) bool {
	file, err := yamlfile.Tree(text, MaxBytes)
	if err != nil || len(file.Docs) == 0 {
		return false
	}
	node := child(child(child(file.Docs[0].Body, "endpoints"), endpoint), "key")
	if node == nil || node.GetToken() == nil || node.GetToken().Position == nil {
		return false
	}
	at := node.GetToken().Position
	if at.Line < 1 || at.Line > len(lines) {
		return false
	}
	line := lines[at.Line-1]
	for _, written := range []string{`"` + old + `"`, `'` + old + `'`, old} {
		// Columns of the parser count letters, and not always from the quote.
		if strings.Count(line, written) == 1 {
			lines[at.Line-1] = strings.Replace(line, written, sealed, 1)
			return true
		}
	}
	return false
}

// child is the value of a key in a mapping, or nil.
func child(n ast.Node, key string) ast.Node {
	var pairs []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	}
	for _, p := range pairs {
		if t := p.Key.GetToken(); t != nil && t.Value == key {
			return p.Value
		}
	}
	return nil
}

// sealer is what keys are sealed with.
type sealer = sealing.Sealer
