// Command movie joins pictures to a moving one:
//
//	movie OUT.gif 1500 ONE.png TWO.png …
//
// shows each picture for so many milliseconds, the last one three times as long,
// over and over. Pages have few colours, so the commonest 256 of all pictures do.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/png"
	"maps"
	"os"
	"slices"
	"strconv"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "movie:", err)
		os.Exit(1) //nolint:forbidigo // a program of its own
	}
}

func run(args []string) error {
	if len(args) < 3 {
		return errors.New("want OUT.gif MILLISECONDS PICTURE.png …")
	}
	ms, err := strconv.Atoi(args[1])
	if err != nil || ms < 20 {
		return fmt.Errorf("%q is no time in milliseconds", args[1])
	}
	frames, err := read(args[2:])
	if err != nil {
		return err
	}
	colours := palette(frames)
	out := &gif.GIF{}
	for i, frame := range frames {
		shown := image.NewPaletted(frame.Bounds(), colours)
		draw.Draw(shown, shown.Bounds(), frame, frame.Bounds().Min, draw.Src)
		delay := ms / 10
		if i == len(frames)-1 {
			delay *= 3
		}
		out.Image, out.Delay = append(out.Image, shown), append(out.Delay, delay)
	}
	file, err := os.Create(args[0])
	if err != nil {
		return err
	}
	return errors.Join(gif.EncodeAll(file, out), file.Close())
}

func read(names []string) ([]image.Image, error) {
	frames := make([]image.Image, len(names))
	for i, name := range names {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		frames[i], err = png.Decode(file)
		if err := errors.Join(err, file.Close()); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return frames, nil
}

// palette is the commonest colours, each at least a little away from the others:
// the many shades of a letter's edge do not push out the colour of a button.
func palette(frames []image.Image) color.Palette {
	counts := map[color.RGBA]int{}
	for _, frame := range frames {
		b := frame.Bounds()
		for y := b.Min.Y; y < b.Max.Y; y++ {
			for x := b.Min.X; x < b.Max.X; x++ {
				counts[color.RGBAModel.Convert(frame.At(x, y)).(color.RGBA)]++
			}
		}
	}
	common := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(rank(a), rank(b)))
	})
	var out color.Palette
	for apart := 24; apart >= 0 && len(out) < 256; apart -= 8 {
		for _, c := range common {
			if len(out) < 256 && !slices.ContainsFunc(out, func(o color.Color) bool { return near(c, o.(color.RGBA), apart) }) {
				out = append(out, c)
			}
		}
	}
	return out
}

func rank(c color.RGBA) int { return int(c.R)<<16 | int(c.G)<<8 | int(c.B) }

func near(a, b color.RGBA, within int) bool {
	return max(distance(a.R, b.R), distance(a.G, b.G), distance(a.B, b.B)) <= within
}

func distance(a, b uint8) int { return max(int(a)-int(b), int(b)-int(a)) }
