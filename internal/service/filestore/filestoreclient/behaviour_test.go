package filestoreclient_test

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/protocol/cid"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoreclient"
	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// rest is the door over REST.
type rest struct {
	t *testing.T
	c *filestoreclient.Client
}

func (d rest) Create(path, text string) (string, error) {
	f, err := d.c.Create(d.t.Context(), path, "text/plain", strings.NewReader(text), int64(len(text)))
	return f.CID, err
}

func (d rest) Replace(path, text string) (string, error) {
	f, err := d.c.Put(d.t.Context(), path, "text/plain", strings.NewReader(text), int64(len(text)), cid.CID{})
	return f.CID, err
}

func (d rest) Read(path string) (string, error) {
	var b bytes.Buffer
	_, err := d.c.Get(d.t.Context(), path, 0, &b)
	return b.String(), err
}

func (d rest) Edit(path, old, replacement string) error {
	f, err := d.c.Stat(d.t.Context(), path)
	if err != nil {
		return err
	}
	_, err = d.c.Edit(d.t.Context(), f.ID, filestorehttp.EditBody{OldString: old, NewString: replacement})
	return err
}

func (d rest) Move(from, to string) error {
	_, err := d.c.Move(d.t.Context(), from, to, false)
	return err
}

func (d rest) Remove(path string) error {
	_, err := d.c.Remove(d.t.Context(), path)
	return err
}

func (d rest) Children(folder string) ([]string, error) {
	nodes, err := d.c.Tree(d.t.Context(), folder)
	var out []string
	for _, n := range nodes {
		out = append(out, n.Path)
	}
	return out, err
}

func (d rest) Versions(path string) (int, error) {
	all, err := d.c.Versions(d.t.Context(), path)
	return len(all), err
}

func TestBehaviour(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		server, err := httpserver.New(httpserver.Config{})
		if err != nil {
			t.Fatal(err)
		}
		who := identitytest.New(t)
		for _, surface := range []httpserver.Surface{
			filestorehttp.Surface(w.Service, filestorehttp.Deps{Authenticate: identityhttp.Wrap(who, identity.Files)}),
			identityhttp.Surface(who, httpserver.ClosedCORS(), identityhttp.Limits{}),
		} {
			if err := server.Mount(surface); err != nil {
				t.Fatal(err)
			}
		}
		ts := httptest.NewServer(server)
		t.Cleanup(ts.Close)
		c, err := filestoreclient.New(filestoreclient.Config{Server: ts.URL, Signer: identitytest.Alice.Signer})
		if err != nil {
			t.Fatal(err)
		}
		filestoretest.Behaviour(t, rest{t, c})
	})
}
