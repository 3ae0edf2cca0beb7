package openaiface_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
)

// What known programs send is answered, and the model is told what they mean.
func TestRequestsOfKnownPrograms(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	must(t, err)
	if len(files) < 4 {
		t.Fatalf("only %v", files)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			must(t, err)
			var c struct {
				Headers          map[string]string
				Body             json.RawMessage
				Told             []string
				Sessions, Images int
			}
			must(t, json.Unmarshal(data, &c))
			model := scripted.Sequence(scripted.Text("Fine."))
			alice := oracletest.Start(t, model).As(t, identitytest.Alice)
			for name, value := range c.Headers {
				alice.Header.Set(name, value)
			}
			r := alice.Do("POST", chatPath, string(c.Body))
			if r.Status != 200 || !strings.Contains(string(r.Body), "Fine.") {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
			req := turns(model)[0]
			if d := cmp.Diff(c.Told, told(req)); d != "" {
				t.Error(d)
			}
			if n := sessions(t, alice); n != c.Sessions || len(req.Messages[len(req.Messages)-1].Images) != c.Images {
				t.Errorf("%d sessions, images %v", n, req.Messages[len(req.Messages)-1].Images)
			}
		})
	}
}
