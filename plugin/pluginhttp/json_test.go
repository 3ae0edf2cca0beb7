package pluginhttp_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/castalia-org/castalia/plugin"
	"github.com/castalia-org/castalia/plugin/pluginhttp"
)

func TestReadJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, want string }{
		{`{"name":"a"}`, ""},
		{` {"name":"a"} ` + "\n", ""},
		{``, "The body is empty"},
		{`{`, "The body is not JSON"},
		{`nonsense`, "The body is not JSON"},
		{`{"name":1}`, "name must not be a number"},
		{`[]`, "the body must not be a array"},
		{`{"nome":"a"}`, "property nome should not exist"},
		{`{"name":"b","name":"a"}`, "property name must be there once"},
		{`{"name":"b","Name":"a"}`, "property Name must be there once"},
		{`{"name":` + strings.Repeat(`[],`, 11_000) + `0]}`, "The body has more than 20000 values"},
		{`{"name":"a"} {}`, "Unexpected data after the JSON value"},
	} {
		var in struct {
			Name string `json:"name"`
		}
		err := pluginhttp.ReadJSON(httptest.NewRequest(http.MethodPost, "/", strings.NewReader(c.body)), &in)
		if c.want == "" {
			if err != nil || in.Name != "a" {
				t.Errorf("%q: %v", c.body, err)
			}
			continue
		}
		e, ok := errors.AsType[*plugin.Error](err)
		if !ok || e.Status != 400 || e.Message != c.want {
			t.Errorf("%q: %v, want %s", c.body, err, c.want)
		}
	}
	broken := errors.New("broken")
	var in any
	if err := pluginhttp.ReadJSON(httptest.NewRequest(http.MethodPost, "/", iotest.ErrReader(broken)),
		&in); !errors.Is(err, broken) {
		t.Errorf("a broken connection became %v", err)
	}
}
