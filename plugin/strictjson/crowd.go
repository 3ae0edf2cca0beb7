package strictjson

import "bytes"

// Crowded reports whether JSON has more values than most: members, elements,
// objects and lists. An empty object is three bytes, with the comma behind it, and
// becomes twenty times that or more where it is read, so that bytes alone bound
// nothing: whoever decodes what strangers wrote counts before. What is no JSON is
// counted too, and left to the decoder.
func Crowded(data []byte, most int) bool {
	for at := 0; at < len(data); at++ {
		switch data[at] {
		case '{', '[', ',':
			if most--; most < 0 {
				return true
			}
		case '"':
			at = closing(data, at)
		}
	}
	return false
}

// closing is where the text that begins at a quote ends: at its closing quote, or
// with the data.
func closing(data []byte, at int) int {
	for at++; at < len(data); {
		n := bytes.IndexAny(data[at:], `"\`)
		switch {
		case n < 0:
			return len(data)
		case data[at+n] == '"':
			return at + n
		}
		at += n + 2 // what is escaped may be a quote
	}
	return at
}
