package filestoreclient_test

import (
	"net/http/httptest"
	"testing"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoreclient"
	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

func TestBehaviour(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		server, err := httpserver.New(httpserver.Config{})
		if err != nil {
			t.Fatal(err)
		}
		who := identitytest.New(t)
		for _, surface := range []httpserver.Surface{
			filestorehttp.Surface(w.Service,
				filestorehttp.Deps{Folders: w.Folders, Authenticate: identityhttp.Wrap(who, identity.Files)}),
			identityhttp.Surface(who, httpserver.CORSPolicy{}, nil),
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
		filestoretest.Behaviour(t, filestoretest.Rest{T: t, Next: func() *filestoreclient.Client { return c }})
	})
}
