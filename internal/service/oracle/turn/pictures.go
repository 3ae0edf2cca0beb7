package turn

import (
	"context"
	"slices"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/plugin"
)

// Bounds of the pictures of earlier turns that a model is shown again.
const (
	maxPictures     = 8
	maxPictureBytes = 20 << 20
	pictureTokens   = 1000 // as model.MessageTokens counts one
)

// album is where pictures hang that earlier turns brought: they are read again, by
// their CID, when it is known which turns the model is told.
type album []hung

type hung struct {
	turn, message int
	file          oracle.Attachment
}

// tokens is about what the pictures of a turn take of a model's window.
func (a album) tokens(turn int) int {
	n := 0
	for _, h := range a {
		if h.turn == turn {
			n += pictureTokens
		}
	}
	return n
}

// pictures are the files of a message that a model was shown.
func pictures(files []oracle.Attachment) []oracle.Attachment {
	return slices.DeleteFunc(slices.Clone(files), func(f oracle.Attachment) bool {
		return f.Category != "image" || f.Note != "[picture]"
	})
}

// blind is what a model is told that does not see the pictures of a message.
func blind(files []oracle.Attachment) string {
	if len(pictures(files)) == 0 {
		return ""
	}
	return "\n[This model cannot see pictures.]"
}

// hang notes the pictures of a message of an earlier turn, or tells a model that
// does not see that there were some: in the same words as when they came, so that
// requests begin alike.
func (t *turn) hang(a *album, turn, message int, said []plugin.ModelMessage, files []oracle.Attachment) {
	if message < 0 || said[message].Role != plugin.RoleUser {
		return
	}
	if !t.model.Vision {
		said[message].Text += blind(files)
		return
	}
	for _, f := range pictures(files) {
		if f.CID != "" { // others can be read with their own token alone
			*a = append(*a, hung{turn, message, f})
		}
	}
}

// show reads the newest pictures again that belong to turns which the model is told.
func (t *turn) show(ctx context.Context, a album, turns [][]plugin.ModelMessage, keep int) {
	if len(a) > maxPictures {
		a = a[len(a)-maxPictures:]
	}
	left := maxPictureBytes
	for _, h := range slices.Backward(a) {
		if h.turn < keep {
			break
		}
		shown := t.picture(ctx, h.file)
		for _, p := range shown {
			left -= len(p.Data)
		}
		if left < 0 {
			break
		}
		m := &turns[h.turn][h.message]
		m.Images = append(slices.Clone(shown), m.Images...) // the newest comes first
	}
}

// picture reads a picture by its CID; nothing, when it cannot be read any more.
func (t *turn) picture(ctx context.Context, f oracle.Attachment) []plugin.Image {
	if f.CID == "" || t.deps.Attachments == nil {
		return nil
	}
	_, shown := t.deps.Attachments.Fetch(ctx, AttachmentQuery{
		Owner: t.run.Owner, Attachments: []oracle.Attachment{f}, Brought: t.carried.Brought,
	})
	return shown
}
