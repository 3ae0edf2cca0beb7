package callframe

import (
	"bytes"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"
)

func pair(t testing.TB) (oracle, page *Keys) {
	t.Helper()
	mine, _, err := NewAgreement()
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if oracle, err = OracleKeys("c", mine, theirs.PublicKey()); err != nil {
		t.Fatal(err)
	}
	if page, err = PageKeys("c", theirs, mine.PublicKey()); err != nil {
		t.Fatal(err)
	}
	return oracle, page
}

func TestWhatOneEndSealsOnlyTheOtherOpens(t *testing.T) {
	t.Parallel()
	oracle, page := pair(t)
	frame := []byte("\x00header and a picture")
	sealed := page.SealVideo.Seal(frame, 10)
	if !bytes.Equal(sealed[:10], frame[:10]) || bytes.Contains(sealed, []byte("picture")) ||
		len(sealed) != len(frame)+FrameOverhead {
		t.Errorf("sealed as %q", sealed)
	}
	if got, err := oracle.OpenVideo.Open(sealed, 10); err != nil || !bytes.Equal(got, frame) {
		t.Errorf("opened as %q, %v", got, err)
	}
	other, _ := pair(t)
	for name, open := range map[string]*Opener{"its own end": page.OpenVideo, "as sound": oracle.OpenAudio, "another call": other.OpenVideo} {
		if _, err := open.Open(sealed, 10); err == nil {
			t.Errorf("%s opened it", name)
		}
	}
	for i := range sealed {
		broken := bytes.Clone(sealed)
		broken[i] ^= 1
		if _, err := oracle.OpenVideo.Open(broken, 10); err == nil {
			t.Errorf("it opens with byte %d changed", i)
		}
	}
	if bytes.Equal(page.SealVideo.Seal(frame, 10), sealed) {
		t.Error("a nonce came twice")
	}
	if _, err := OracleKeys("c", mustKey(t), lowOrder(t)); err == nil {
		t.Error("a point of low order was taken")
	}
}

func mustKey(t *testing.T) *ecdh.PrivateKey {
	t.Helper()
	key, _, err := NewAgreement()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func lowOrder(t *testing.T) *ecdh.PublicKey {
	t.Helper()
	key, err := ecdh.X25519().NewPublicKey(unhex(t, "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestFrameVectors pins the derivation and the layout, which both ends share.
func TestFrameVectors(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../../../../spec/vectors/calls/frames.json")
	if err != nil {
		t.Fatal(err)
	}
	type frame struct {
		Kind, Frame, IV, Sealed string
		Clear                   int
	}
	var v struct {
		CallID, OraclePrivate, OraclePublic, TabPrivate, TabPublic string
		Frames, Spoken                                             []frame
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	private := func(text string) *ecdh.PrivateKey {
		key, err := ecdh.X25519().NewPrivateKey(unhex(t, text))
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	public := func(text string) *ecdh.PublicKey {
		key, err := ecdh.X25519().NewPublicKey(unhex(t, text))
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	keys, err := OracleKeys(v.CallID, private(v.OraclePrivate), public(v.TabPublic))
	if err != nil {
		t.Fatal(err)
	}
	page, err := PageKeys(v.CallID, private(v.TabPrivate), public(v.OraclePublic))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range v.Frames {
		open := keys.OpenAudio
		if f.Kind == "video" {
			open = keys.OpenVideo
		}
		if got, err := open.Open(unhex(t, f.Sealed), f.Clear); err != nil || hex.EncodeToString(got) != f.Frame {
			t.Errorf("%s opens as %x, %v", f.Kind, got, err)
		}
	}
	if len(v.Spoken) == 0 {
		t.Error("there is no vector of what the oracle says")
	}
	for _, f := range v.Spoken {
		iv := unhex(t, f.IV)
		copy(keys.SealAudio.prefix[:], iv)
		keys.SealAudio.counter.Store(binary.BigEndian.Uint64(iv[4:]) - 1)
		if got := keys.SealAudio.Seal(unhex(t, f.Frame), ClearSpoken); hex.EncodeToString(got) != f.Sealed ||
			f.Clear != ClearSpoken {
			t.Errorf("what the oracle says is sealed as %x", got)
		}
		if got, err := page.OpenAudio.Open(unhex(t, f.Sealed), ClearSpoken); err != nil ||
			hex.EncodeToString(got) != f.Frame {
			t.Errorf("what the oracle says opens as %x, %v", got, err)
		}
	}
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	data, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// FuzzOpen opens what a relay may have made of a frame.
func FuzzOpen(f *testing.F) {
	oracle, page := pair(f)
	f.Add(page.SealAudio.Seal([]byte("xabc"), 1), 1)
	f.Add([]byte{}, 0)
	f.Add(bytes.Repeat([]byte{1}, FrameOverhead), 0)
	f.Fuzz(func(t *testing.T, frame []byte, clear int) {
		if clear < 0 || clear > 10 {
			return
		}
		if out, err := oracle.OpenAudio.Open(frame, clear); err == nil && len(out) != len(frame)-FrameOverhead {
			t.Errorf("%d bytes of %d", len(out), len(frame))
		}
		_ = ClearVP8(frame)
	})
}
