package callrtc

import (
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"testing"
)

// keyFrame is a recorded key frame.
func keyFrame(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile("../calltest/testdata/vp8.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
			frame, err := hex.DecodeString(data)
			if err != nil {
				t.Fatal(err)
			}
			return frame
		}
	}
	t.Fatalf("there is no frame %q", name)
	return nil
}

func TestSnapshots(t *testing.T) {
	t.Parallel()
	whole := keyFrame(t, "halves")
	if picture, err := snapshot(whole); err != nil || string(picture[:2]) != "\xff\xd8" {
		t.Errorf("%d bytes, %v", len(picture), err)
	}
	if _, err := snapshot(keyFrame(t, "dark")); !errors.Is(err, errDark) {
		t.Errorf("a dark picture: %v", err)
	}
	huge := append([]byte(nil), whole...)
	huge[6], huge[7], huge[8], huge[9] = 0xff, 0x3f, 0xff, 0x3f
	delta := append([]byte(nil), whole...)
	delta[0] |= 1
	for name, frame := range map[string][]byte{"nothing": nil, "cut": whole[:20], "a header": whole[:10], "huge": huge, "a delta frame": delta} {
		if _, err := snapshot(frame); !errors.Is(err, errNoPicture) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzSnapshot decodes what a page may send as a picture.
func FuzzSnapshot(f *testing.F) {
	f.Add(keyFrame(f, "halves"))
	f.Add(keyFrame(f, "dark"))
	f.Fuzz(func(t *testing.T, frame []byte) {
		if picture, err := snapshot(frame); err == nil && (len(picture) == 0 || len(picture) > 8<<20) {
			t.Errorf("%d bytes of %d", len(picture), len(frame))
		}
	})
}
