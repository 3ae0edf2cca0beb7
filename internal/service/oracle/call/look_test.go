package call_test

import (
	"bytes"
	"image/jpeg"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/call/calltest"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/plugin"
)

// blind is a model that sees nothing.
type blind struct{ *scripted.Provider }

func (b blind) Models() []model.Info {
	all := b.Provider.Models()
	all[0].Vision = false
	return all
}

// asked is the message of the last turn.
func asked(t *testing.T, p *scripted.Provider) plugin.ModelMessage {
	t.Helper()
	var last plugin.ModelMessage
	for _, r := range p.Requests() {
		if r.Purpose == "turn" {
			last = r.Messages[len(r.Messages)-1]
		}
	}
	return last
}

func TestAModelThatSeesIsShownWhatTheCameraShows(t *testing.T) {
	t.Parallel()
	for _, framed := range []bool{false, true} {
		provider := scripted.New(func(plugin.ModelRequest) scripted.Reply { return scripted.Text("A flag.") })
		p := calltest.NewPage(t, calltest.Start(t, calltest.Setup{Provider: provider}), identitytest.Alice)
		p.Ring(call.Video, framed)
		stop := p.Show(calltest.Frame("halves"))
		p.See(1)
		p.Send(map[string]any{"type": "text", "text": "what is this?"})
		if f := p.Await("caption", "role", "user"); f["seen"] != true {
			t.Errorf("framed %v: the caption is %v", framed, f)
		}
		p.Await("caption", "role", "assistant", "final", true, "text", "A flag.")
		stop()
		m := asked(t, provider)
		if m.Text != "what is this?" || len(m.Images) != 1 || m.Images[0].MediaType != "image/jpeg" {
			t.Fatalf("framed %v: asked %q with %d pictures", framed, m.Text, len(m.Images))
		}
		seen, err := jpeg.Decode(bytes.NewReader(m.Images[0].Data))
		if err != nil {
			t.Fatal(err)
		}
		left, _, _, _ := seen.At(8, 24).RGBA()
		_, _, right, _ := seen.At(56, 24).RGBA()
		if b := seen.Bounds(); b.Dx() != 64 || b.Dy() != 48 || left < 0xa000 || right < 0xa000 {
			t.Errorf("framed %v: a picture of %v, left red %x, right blue %x", framed, b, left, right)
		}
		if got := transcript(t, p); len(got) != 2 || got[0] != "human: what is this?" {
			t.Errorf("the transcript is %q", got)
		}
	}
}

func TestNothingIsLookedAtWithoutNeed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind  call.Type
		frame string
		blind bool
	}{
		"a model that sees nothing": {call.Video, "halves", true},
		"a camera that is off":      {call.Video, "dark", false},
		"a voice call":              {call.Audio, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			provider := scripted.New(func(plugin.ModelRequest) scripted.Reply { return scripted.Text("Nothing.") })
			setup := calltest.Setup{Provider: provider}
			if c.blind {
				setup.Provider = blind{provider}
			}
			p := calltest.NewPage(t, calltest.Start(t, setup), identitytest.Alice)
			p.Ring(c.kind, false)
			if c.frame != "" {
				defer p.Show(calltest.Frame(c.frame))()
				p.See(1)
			}
			p.Send(map[string]any{"type": "text", "text": "what is this?"})
			if f := p.Await("caption", "role", "user"); f["seen"] != nil {
				t.Errorf("the caption is %v", f)
			}
			p.Await("caption", "role", "assistant", "final", true, "text", "Nothing.")
			if m := asked(t, provider); len(m.Images) != 0 || m.Text != "what is this?" {
				t.Errorf("asked %q with %d pictures", m.Text, len(m.Images))
			}
		})
	}
}
