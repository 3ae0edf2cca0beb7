package calltest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/gorilla/websocket"

	"github.com/castalia-org/castalia/internal/service/oracle/call/callspeech"
)

// Streaming makes a client take speech while it is spoken.
func Streaming(c *callspeech.Config) { c.Stream = true }

// Streamed lists the texts that were asked for while somebody spoke, each with how much
// sound had come for it.
func (s *Speech) Streamed() []Heard {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Heard(nil), s.streamed...)
}

// Coming is how much sound has come since the last text was asked for.
func (s *Speech) Coming() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.coming
}

// Streams is how many connections were made for speech that is being spoken.
func (s *Speech) Streams() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams
}

// listen is a session of the Realtime API that transcribes.
func (s *Speech) listen(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.streams++
	s.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer a key" || r.URL.Query().Get("intent") != "transcription" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if !s.fails(Garbage, Cut, Empty, Silent) && s.trouble(w, r) {
		return
	}
	conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	var asked Heard
	for item := 0; ; {
		var e struct {
			Type, Audio string
			Session     struct {
				Type  string
				Audio struct {
					Input struct {
						Format        struct{ Rate int }
						Transcription struct{ Model, Language string }
						Turns         json.RawMessage `json:"turn_detection"`
					}
				}
			}
		}
		if conn.ReadJSON(&e) != nil {
			return
		}
		var answers []string
		switch in := e.Session.Audio.Input; e.Type {
		case "session.update":
			asked.Model, asked.Language = in.Transcription.Model, in.Transcription.Language
			answers = []string{`{"type":"session.updated"}`}
			if e.Session.Type != "transcription" || in.Format.Rate != 24000 || string(in.Turns) != "null" {
				answers = []string{`{"type":"error","error":{"code":"invalid_value"}}`}
			}
		case "input_audio_buffer.append":
			sound, err := base64.StdEncoding.DecodeString(e.Audio)
			if err != nil || len(sound)%2 != 0 {
				answers = []string{`{"type":"error","error":{"code":"invalid_audio"}}`}
			}
			s.came(time.Duration(len(sound)/2) * time.Second / 24000)
		case "input_audio_buffer.clear":
			s.came(-s.Coming())
		case "input_audio_buffer.commit":
			asked.Seconds = s.Coming().Seconds()
			s.came(-s.Coming())
			item++
			answers = s.streamedAnswers(asked, fmt.Sprint("item", item))
			if s.fails(Cut) {
				return
			}
		}
		for _, answer := range answers {
			if conn.WriteMessage(websocket.TextMessage, []byte(answer)) != nil {
				return
			}
		}
	}
}

func (s *Speech) came(length time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.coming += length
}

// fails reports whether the mood is one of these.
func (s *Speech) fails(moods ...Mood) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(moods, s.mood)
}

func (s *Speech) streamedAnswers(asked Heard, item string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streamed = append(s.streamed, asked)
	committed := fmt.Sprintf(`{"type":"input_audio_buffer.committed","item_id":%q}`, item)
	switch s.mood {
	case Garbage:
		return []string{committed, "<html>"}
	case Empty:
		return []string{
			committed,
			fmt.Sprintf(`{"type":"conversation.item.input_audio_transcription.failed","item_id":%q,"error":{"code":"audio_unintelligible"}}`, item),
		}
	case Silent:
		return []string{committed}
	}
	text := ""
	if len(s.hears) > 0 {
		text, s.hears = s.hears[0], s.hears[1:]
	}
	return []string{
		committed, fmt.Sprintf(`{"type":"conversation.item.input_audio_transcription.delta","item_id":%q,"delta":"x"}`, item),
		fmt.Sprintf(`{"type":"conversation.item.input_audio_transcription.completed","item_id":%q,"transcript":%q}`, item, text),
	}
}
