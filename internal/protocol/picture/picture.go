// Package picture makes small pictures of pictures.
//
// It reads PNG, JPEG, GIF (the first frame) and WebP, turns a photograph as its
// camera was held, and writes JPEG, or PNG where something can be seen through. It
// promises that no picture costs more than MaxPixels of memory: a file says how
// large it is before anything is unpacked, and one that says more is refused. It
// does not promise that the decoders withstand every file: servers call it apart
// from themselves (see package docreader).
//
// Decision: ADR 0264.
package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"

	"golang.org/x/image/draw"
	"golang.org/x/image/webp"
)

// MaxPixels is the size of the largest picture that is read. Deep ones take eight
// bytes for each.
const MaxPixels = 40_000_000

// Why a picture is not read.
var (
	ErrUnknown  = errors.New("the file is no picture of a kind that is read here")
	ErrTooLarge = errors.New("the picture has too many pixels")
	ErrDamaged  = errors.New("the picture is damaged")
)

// format is one kind of picture.
type format struct {
	magic  string // a question mark is any byte
	config func(r *bytes.Reader) (image.Config, error)
	decode func(r *bytes.Reader) (image.Image, error)
}

func formats() []format {
	return []format{
		{
			"\x89PNG\r\n\x1a\n", func(r *bytes.Reader) (image.Config, error) { return png.DecodeConfig(r) },
			func(r *bytes.Reader) (image.Image, error) { return png.Decode(r) },
		},
		{
			"\xff\xd8\xff", func(r *bytes.Reader) (image.Config, error) { return jpeg.DecodeConfig(r) },
			func(r *bytes.Reader) (image.Image, error) { return jpeg.Decode(r) },
		},
		{
			"GIF8??", func(r *bytes.Reader) (image.Config, error) { return gif.DecodeConfig(r) },
			func(r *bytes.Reader) (image.Image, error) { return gif.Decode(r) },
		},
		{
			"RIFF????WEBP", func(r *bytes.Reader) (image.Config, error) { return webp.DecodeConfig(r) },
			func(r *bytes.Reader) (image.Image, error) { return webp.Decode(r) },
		},
	}
}

func (f format) matches(data []byte) bool {
	if len(data) < len(f.magic) {
		return false
	}
	for i := range len(f.magic) {
		if f.magic[i] != '?' && f.magic[i] != data[i] {
			return false
		}
	}
	return true
}

// Shrink returns the picture so that neither side is longer than edge, as JPEG or
// PNG. A smaller one keeps its size.
func Shrink(data []byte, edge int) ([]byte, error) {
	for _, f := range formats() {
		if f.matches(data) {
			return shrink(f, data, edge)
		}
	}
	return nil, ErrUnknown
}

func shrink(f format, data []byte, edge int) ([]byte, error) {
	c, err := f.config(bytes.NewReader(data))
	if err != nil || c.Width < 1 || c.Height < 1 {
		return nil, ErrDamaged
	}
	if c.Width > MaxPixels/c.Height {
		return nil, ErrTooLarge
	}
	full, err := f.decode(bytes.NewReader(data))
	if err != nil {
		return nil, ErrDamaged
	}
	size := full.Bounds().Size()
	if longest := max(size.X, size.Y); longest > edge {
		size = image.Pt(max(1, size.X*edge/longest), max(1, size.Y*edge/longest))
	}
	small := image.NewNRGBA(image.Rectangle{Max: size})
	draw.BiLinear.Scale(small, small.Rect, full, full.Bounds(), draw.Src, nil)
	small = turned(small, orientation(data))
	var out bytes.Buffer
	if small.Opaque() {
		err = jpeg.Encode(&out, small, &jpeg.Options{Quality: 80})
	} else {
		err = png.Encode(&out, small)
	}
	if err != nil {
		return nil, fmt.Errorf("write picture: %w", err)
	}
	return out.Bytes(), nil
}
