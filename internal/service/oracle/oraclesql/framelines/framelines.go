// Package framelines writes the frames of a run as the lines in which records keep them.
// It refuses lines that it did not write.
package framelines

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/castalia-org/castalia/internal/service/oracle"
)

// MaxInRow is how many bytes of lines a run's own row takes in at its end.
const MaxInRow = 4 << 10

// Encode writes one line per frame: the event's name, a space, the data.
// JSON holds no line feed, and the numbers follow from the first.
func Encode(frames []oracle.Frame) string {
	size := 0
	for _, f := range frames {
		size += len(f.Event) + len(f.Data) + 2
	}
	var b strings.Builder
	b.Grow(size)
	for _, f := range frames {
		b.WriteString(f.Event)
		b.WriteByte(' ')
		b.Write(f.Data)
		b.WriteByte('\n')
	}
	return b.String()
}

// Decode reads what Encode wrote, without the frames up to after.
func Decode(first int64, lines string, after int64) ([]oracle.Frame, error) {
	var out []oracle.Frame
	for seq := first; lines != ""; seq++ {
		line, rest, ok := strings.Cut(lines, "\n")
		event, data, ok2 := strings.Cut(line, " ")
		if !ok || !ok2 || event == "" || !json.Valid([]byte(data)) {
			return nil, fmt.Errorf("frame %d is damaged", seq)
		}
		lines = rest
		if seq > after {
			out = append(out, oracle.Frame{Seq: seq, Event: event, Data: json.RawMessage(data)})
		}
	}
	return out, nil
}
