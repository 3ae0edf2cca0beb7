package picture

import (
	"bytes"
	"encoding/binary"
	"image"
)

// upright is the orientation of a picture that says nothing of it.
const upright = 1

// orientation is how the camera was held, from 1 to 8, as the Exif part of a JPEG
// says it.
func orientation(data []byte) int {
	if len(data) < 2 || data[0] != 0xff || data[1] != 0xd8 {
		return upright
	}
	for rest := data[2:]; len(rest) >= 4 && rest[0] == 0xff; {
		marker, length := rest[1], int(binary.BigEndian.Uint16(rest[2:]))
		if marker == 0xda || length < 2 || length+2 > len(rest) { // the pixels begin
			return upright
		}
		part := rest[4 : length+2]
		if tiff, is := bytes.CutPrefix(part, []byte("Exif\x00\x00")); marker == 0xe1 && is {
			return tiffOrientation(tiff)
		}
		rest = rest[length+2:]
	}
	return upright
}

// tiffOrientation looks for the orientation among the first entries of a TIFF file.
func tiffOrientation(tiff []byte) int {
	const orientationTag, entrySize = 0x0112, 12
	if len(tiff) < 8 {
		return upright
	}
	var order binary.ByteOrder = binary.LittleEndian
	if tiff[0] == 'M' {
		order = binary.BigEndian
	}
	at := int64(order.Uint32(tiff[4:]))
	if at+2 > int64(len(tiff)) {
		return upright
	}
	entries := tiff[at+2:]
	for range order.Uint16(tiff[at:]) {
		if len(entries) < entrySize {
			break
		}
		if order.Uint16(entries) == orientationTag {
			if o := int(order.Uint16(entries[8:])); o >= 1 && o <= 8 {
				return o
			}
			break
		}
		entries = entries[entrySize:]
	}
	return upright
}

// turned returns the picture as its camera was held.
func turned(img *image.NRGBA, o int) *image.NRGBA {
	if o == upright {
		return img
	}
	size := img.Rect.Size()
	w, h := size.X, size.Y
	if o >= 5 { // the sides change places
		w, h = h, w
	}
	out := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			fromX, fromY := x, y
			switch o {
			case 2:
				fromX = w - 1 - x
			case 3:
				fromX, fromY = w-1-x, h-1-y
			case 4:
				fromY = h - 1 - y
			case 5:
				fromX, fromY = y, x
			case 6:
				fromX, fromY = y, w-1-x
			case 7:
				fromX, fromY = h-1-y, w-1-x
			case 8:
				fromX, fromY = h-1-y, x
			}
			out.SetNRGBA(x, y, img.NRGBAAt(fromX, fromY))
		}
	}
	return out
}
