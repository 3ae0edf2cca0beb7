package turn_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/internal/service/oracle/turn"
	"github.com/castalia-org/castalia/plugin"
)

// gallery has a picture under every CID; its bytes are the CID.
type gallery struct{ gone bool }

func (g *gallery) Fetch(_ context.Context, q turn.AttachmentQuery) ([]oracle.Attachment, []plugin.Image) {
	out := slices.Clone(q.Attachments)
	var images []plugin.Image
	for i := range out {
		if g.gone {
			out[i].Note = "It is gone."
			continue
		}
		out[i].Category, out[i].Note = "image", "[picture]"
		images = append(images, plugin.Image{MediaType: "image/png", Data: []byte(out[i].CID)})
	}
	return out, images
}

// blindly is a provider whose model does not see.
type blindly struct{ *scripted.Provider }

func (b blindly) Models() []model.Info {
	all := b.Provider.Models()
	all[0].Vision = false
	return all
}

// Pictures stay in the conversation for models that see, also when a turn is asked
// again; others are told each time, in the same words.
func TestPicturesStay(t *testing.T) {
	t.Parallel()
	for name, sees := range map[string]bool{"sees": true, "does not see": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := scripted.Sequence(scripted.Text("well"))
			var p model.Provider = script
			if !sees {
				p = blindly{script}
			}
			files := &gallery{}
			n := oracletest.Start(t, p, func(d *oraclekit.Deps) { d.Attachments = files })
			alice := n.As(t, identitytest.Alice)
			session := alice.Session()
			cid := strings.Repeat("b", 59)
			file := map[string]any{"filename": "cat.png", "mimetype": "image/png", "cid": cid}
			if r := alice.Do(http.MethodPost, "/messages/"+session,
				map[string]any{"message": "what is it?", "attachments": []any{file}}); r.Status != 200 {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
			turns := func() [][]plugin.ModelMessage {
				var out [][]plugin.ModelMessage
				for _, r := range script.Requests() {
					if r.Purpose == "turn" {
						out = append(out, r.Messages)
					}
				}
				return out
			}
			first := turns()[0][0]
			alice.Say(session, "and its colour?")
			later := turns()[1][0]
			if later.Text != first.Text || len(later.Images) != len(first.Images) || sees != (len(later.Images) == 1) ||
				sees == strings.Contains(later.Text, "cannot see") {
				t.Errorf("first %q %d, later %q %d", first.Text, len(first.Images), later.Text, len(later.Images))
			}
			if r := alice.Do(http.MethodPost, "/sessions/"+session+"/messages/last/versions", nil); r.Status != 200 {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
			messages := alice.Do(http.MethodGet, "/messages/"+session, nil)
			var list struct{ Messages []struct{ ID string } }
			messages.JSON(t, &list)
			if r := alice.Do(http.MethodPost, "/sessions/"+session+"/messages/"+list.Messages[0].ID+"/versions", nil); r.Status != 200 {
				t.Fatalf("%d %s", r.Status, r.Body)
			}
			all := turns()
			if again := all[len(all)-1][0]; again.Text != first.Text || len(again.Images) != len(first.Images) {
				t.Errorf("asked again: %q with %d pictures", again.Text, len(again.Images))
			}
			files.gone = true
			alice.Say(session, "and now?")
			all = turns()
			if m := all[len(all)-1][0]; len(m.Images) != 0 || m.Text != first.Text {
				t.Errorf("a picture that is gone: %q %d", m.Text, len(m.Images))
			}
		})
	}
}
