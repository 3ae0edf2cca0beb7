package picture_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"

	"github.com/castalia-org/castalia/internal/protocol/picture"
)

var (
	red  = color.NRGBA{R: 255, A: 255}
	blue = color.NRGBA{B: 255, A: 255}
)

// halves is a picture whose left half is red and whose right half is blue.
func halves(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := red
			if x >= w/2 {
				c = blue
			}
			img.SetNRGBA(x, y, c)
		}
	}
	return img
}

func encoded(t *testing.T, encode func(b *bytes.Buffer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// isRed reports whether a place of a picture is more red than blue.
func isRed(img image.Image, x, y int) bool {
	r, _, b, _ := img.At(x, y).RGBA()
	return r > b
}

func TestShrink(t *testing.T) {
	t.Parallel()
	img := halves(400, 200)
	for name, data := range map[string][]byte{
		"png":  encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, img) }),
		"jpeg": encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, img, nil) }),
		"gif":  encoded(t, func(b *bytes.Buffer) error { return gif.Encode(b, img, nil) }),
	} {
		out, err := picture.Shrink(data, 100)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		small, err := jpeg.Decode(bytes.NewReader(out))
		if err != nil || small.Bounds().Size() != image.Pt(100, 50) || !isRed(small, 10, 25) || isRed(small, 90, 25) {
			t.Errorf("%s became %v, %v", name, small.Bounds(), err)
		}
	}
}

// What can be seen through stays so, and what is small keeps its size.
func TestShrinkKeepsHoles(t *testing.T) {
	t.Parallel()
	img := halves(8, 4)
	img.SetNRGBA(0, 0, color.NRGBA{})
	out, err := picture.Shrink(encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, img) }), 100)
	if err != nil {
		t.Fatal(err)
	}
	small, err := png.Decode(bytes.NewReader(out))
	if err != nil || small.Bounds().Size() != image.Pt(8, 4) {
		t.Fatalf("it became %v, %v", small, err)
	}
	if _, _, _, alpha := small.At(0, 0).RGBA(); alpha != 0 {
		t.Errorf("the hole has alpha %d", alpha)
	}
}

// withOrientation puts an Exif part into a JPEG.
func withOrientation(data []byte, o uint16) []byte {
	tiff := []byte("MM\x00\x2a\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01")
	tiff = binary.BigEndian.AppendUint16(tiff, o)
	tiff = append(tiff, 0, 0, 0, 0, 0, 0)
	part := append([]byte("Exif\x00\x00"), tiff...)
	out := append([]byte{0xff, 0xd8, 0xff, 0xe1}, binary.BigEndian.AppendUint16(nil, uint16(len(part)+2))...)
	return append(append(out, part...), data[2:]...)
}

func TestShrinkTurnsPhotographs(t *testing.T) {
	t.Parallel()
	data := encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, halves(64, 32), nil) })
	for o, redAt := range map[uint16]image.Point{
		1: {4, 16}, 2: {60, 16}, 3: {60, 16}, 4: {4, 16}, 5: {16, 4}, 6: {16, 4}, 7: {16, 60}, 8: {16, 60}, 99: {4, 16},
	} {
		out, err := picture.Shrink(withOrientation(data, o), 64)
		if err != nil {
			t.Fatal(err)
		}
		img, err := jpeg.Decode(bytes.NewReader(out))
		if err != nil {
			t.Fatal(err)
		}
		size := img.Bounds().Size()
		if isRed(img, size.X-1-redAt.X, size.Y-1-redAt.Y) || !isRed(img, redAt.X, redAt.Y) {
			t.Errorf("orientation %d: %v is wrong", o, size)
		}
	}
}

// A few bytes that promise a large picture are refused before anything is unpacked.
func TestShrinkRefuses(t *testing.T) {
	t.Parallel()
	vast := encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, halves(1, 1)) })
	binary.BigEndian.PutUint32(vast[16:], 60_000)
	binary.BigEndian.PutUint32(vast[20:], 60_000)
	binary.BigEndian.PutUint32(vast[29:], crc32.ChecksumIEEE(vast[12:29]))
	cut := encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, halves(50, 50)) })
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"vast":    {vast, picture.ErrTooLarge},
		"cut":     {cut[:len(cut)/2], picture.ErrDamaged},
		"unknown": {[]byte("<svg></svg>"), picture.ErrUnknown},
		"empty":   {nil, picture.ErrUnknown},
	} {
		if _, err := picture.Shrink(c.data, 100); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func FuzzShrink(f *testing.F) {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, halves(8, 8), nil); err != nil {
		f.Fatal(err)
	}
	f.Add(withOrientation(b.Bytes(), 6))
	f.Add([]byte("RIFF\x00\x00\x00\x00WEBPVP8 "))
	f.Fuzz(func(_ *testing.T, data []byte) {
		if len(data) < 1<<16 {
			_, _ = picture.Shrink(data, 16)
		}
	})
}
