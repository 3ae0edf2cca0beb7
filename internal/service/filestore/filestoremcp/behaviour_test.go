package filestoremcp_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// door is the door over MCP.
type door struct{ a agent }

func (d door) do(name string, args m) (string, error) {
	text, failed := d.a.call(name, args)
	if failed {
		return "", errors.New(text)
	}
	return text, nil
}

// cidIn finds the CID that a result reports.
func cidIn(text string) string {
	_, rest, _ := strings.Cut(text, "cid: ")
	cid, _, _ := strings.Cut(rest, "\n")
	return cid
}

func (d door) Create(path, text string) (string, error) {
	out, err := d.do("vfs_write", m{"path": path, "content": text})
	return cidIn(out), err
}

func (d door) Replace(path, text string) (string, error) {
	out, err := d.do("vfs_write", m{"path": path, "content": text, "overwrite": true})
	return cidIn(out), err
}

func (d door) Read(path string) (string, error) {
	out, err := d.do("vfs_read", m{"path": path})
	var text strings.Builder
	for line := range strings.Lines(out) {
		_, plain, _ := strings.Cut(line, "\t")
		text.WriteString(plain)
	}
	return text.String(), err
}

func (d door) Edit(path, old, replacement string) error {
	_, err := d.do("vfs_edit", m{"path": path, "oldString": old, "newString": replacement})
	return err
}

func (d door) Move(from, to string) error {
	_, err := d.do("vfs_move", m{"from": from, "to": to})
	return err
}

func (d door) Remove(path string) error {
	_, err := d.do("vfs_delete", m{"paths": []string{path}})
	return err
}

func (d door) Children(folder string) ([]string, error) {
	out, err := d.do("vfs_list", m{"path": folder})
	var names []string
	for line := range strings.Lines(out) {
		if name, ok := strings.CutPrefix(line, "- "); ok {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names, err
}

func (d door) Versions(path string) (int, error) {
	out, err := d.do("vfs_versions", m{"path": path})
	if err != nil {
		return 0, err
	}
	count, _, _ := strings.Cut(out, " ")
	return strconv.Atoi(count)
}

func TestBehaviour(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		filestoretest.Behaviour(t, door{connect(t, serve(t, w), token(t, "*"))})
	})
}
