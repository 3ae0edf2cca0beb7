package sse_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/castalia-org/castalia/internal/protocol/sse"
)

const vectors = "../../../spec/vectors/sse/"

type event struct {
	Name string `json:"name"`
	ID   string `json:"id"`
	Data string `json:"data"`
}

type parseCase struct {
	Name        string  `json:"name"`
	Stream      string  `json:"stream"`
	Events      []event `json:"events"`
	LastEventID string  `json:"lastEventId"`
	Retry       *int64  `json:"retry"`
}

func parseVectors(t testing.TB) []parseCase {
	t.Helper()
	var file struct{ Cases []parseCase }
	load(t, "parse.json", &file)
	return file.Cases
}

func load(t testing.TB, name string, into any) {
	t.Helper()
	raw, err := os.ReadFile(vectors + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func readAll(t testing.TB, d *sse.Decoder) []event {
	t.Helper()
	events := []event{}
	for {
		e, err := d.Next()
		if errors.Is(err, io.EOF) {
			return events
		}
		if err != nil {
			t.Fatalf("Next: %v", err)
		}
		if e.Name == "" {
			e.Name = "message"
		}
		events = append(events, event{e.Name, e.ID, string(e.Data)})
	}
}

func TestParseVectors(t *testing.T) {
	t.Parallel()
	cut := map[string]func(io.Reader) io.Reader{
		"whole":       func(r io.Reader) io.Reader { return r },
		"byte a time": iotest.OneByteReader,
		"halves":      iotest.HalfReader,
		"with error":  iotest.DataErrReader,
	}
	for _, c := range parseVectors(t) {
		for name, reader := range cut {
			t.Run(c.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				d := sse.NewDecoder(reader(strings.NewReader(c.Stream)), 0)
				if diff := cmp.Diff(c.Events, readAll(t, d)); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
				if d.LastEventID() != c.LastEventID {
					t.Errorf("LastEventID() = %q, want %q", d.LastEventID(), c.LastEventID)
				}
				var want time.Duration
				if c.Retry != nil {
					want = time.Duration(*c.Retry) * time.Millisecond
				}
				if d.Retry() != want {
					t.Errorf("Retry() = %v, want %v", d.Retry(), want)
				}
			})
		}
	}
}

func TestWriteVectors(t *testing.T) {
	t.Parallel()
	var file struct {
		Cases []struct {
			Name   string  `json:"name"`
			Event  event   `json:"event"`
			Stream *string `json:"stream"`
		}
	}
	load(t, "write.json", &file)
	for _, c := range file.Cases {
		got, err := sse.Append(nil, sse.Event{Name: c.Event.Name, ID: c.Event.ID, Data: []byte(c.Event.Data)})
		switch {
		case c.Stream == nil:
			if !errors.Is(err, sse.ErrField) || len(got) != 0 {
				t.Errorf("%s: got %q, %v; want a refusal", c.Name, got, err)
			}
		case err != nil || string(got) != *c.Stream:
			t.Errorf("%s: got %q, %v; want %q", c.Name, got, err, *c.Stream)
		}
	}
}

func TestCommentsAndRetryAreNoEvents(t *testing.T) {
	t.Parallel()
	stream := sse.AppendComment(nil, "heart\nbeat")
	if string(stream) != ": heart beat\n\n" {
		t.Errorf("comment: %q", stream)
	}
	d := sse.NewDecoder(bytes.NewReader(append(stream, "retry: 3000\n\n"...)), 0)
	if got := readAll(t, d); len(got) != 0 {
		t.Errorf("events: %v", got)
	}
	if d.Retry() != 3*time.Second {
		t.Errorf("Retry() = %v", d.Retry())
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for name, stream := range map[string]string{
		"long line":         "data: " + strings.Repeat("x", 200) + "\n\n",
		"line without end":  strings.Repeat("x", 5000),
		"many data lines":   strings.Repeat("data: xxxxxxxxxx\n", 20) + "\n",
		"endless empty":     strings.Repeat("data\n", 200),
		"long comment line": ":" + strings.Repeat("x", 200) + "\n",
	} {
		if _, err := sse.NewDecoder(strings.NewReader(stream), 100).Next(); !errors.Is(err, sse.ErrTooLarge) {
			t.Errorf("%s: %v, want ErrTooLarge", name, err)
		}
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	field := rapid.StringMatching(`[^\r\n\x00]{0,20}`).Filter(func(s string) bool { return s != "message" })
	rapid.Check(t, func(t *rapid.T) {
		var stream []byte
		want := []event{}
		id := ""
		for range rapid.IntRange(0, 5).Draw(t, "events") {
			e := sse.Event{
				Name: field.Draw(t, "name"), ID: field.Draw(t, "id"),
				Data: []byte(rapid.StringMatching(`[^\r]{0,40}`).Draw(t, "data")),
			}
			var err error
			if stream, err = sse.Append(stream, e); err != nil {
				t.Fatal(err)
			}
			stream = sse.AppendComment(stream, "x")
			if e.ID != "" {
				id = e.ID
			}
			if e.Name == "" {
				e.Name = "message"
			}
			want = append(want, event{e.Name, id, string(e.Data)})
		}
		got := []event{}
		d := sse.NewDecoder(bytes.NewReader(stream), 0)
		for {
			e, err := d.Next()
			if err != nil {
				break
			}
			if e.Name == "" {
				e.Name = "message"
			}
			got = append(got, event{e.Name, e.ID, string(e.Data)})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("events (-want +got):\n%s", diff)
		}
	})
}

// FuzzDecoder checks that the cut of a stream does not change its meaning, and
// that limits hold.
func FuzzDecoder(f *testing.F) {
	for _, c := range parseVectors(f) {
		f.Add([]byte(c.Stream))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		const limit = 256
		whole, wholeErr := drain(sse.NewDecoder(bytes.NewReader(stream), limit))
		split, splitErr := drain(sse.NewDecoder(iotest.OneByteReader(bytes.NewReader(stream)), limit))
		if diff := cmp.Diff(whole, split); diff != "" {
			t.Errorf("the cut changed the events:\n%s", diff)
		}
		if !errors.Is(splitErr, wholeErr) {
			t.Errorf("whole: %v, split: %v", wholeErr, splitErr)
		}
		for _, e := range whole {
			if len(e.Data) > 3*limit {
				t.Errorf("an event of %d bytes passed the limit", len(e.Data))
			}
			if _, err := sse.Append(nil, sse.Event{Name: e.Name, ID: e.ID, Data: []byte(e.Data)}); err != nil &&
				!strings.Contains(e.Name, "\x00") {
				t.Errorf("a decoded event cannot be written: %v", err)
			}
		}
	})
}

func drain(d *sse.Decoder) ([]event, error) {
	var events []event
	for {
		e, err := d.Next()
		if err != nil {
			return events, err
		}
		events = append(events, event{e.Name, e.ID, string(e.Data)})
	}
}
