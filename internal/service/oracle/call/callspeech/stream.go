package callspeech

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/castalia-org/castalia/internal/service/oracle/call/calllisten"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callsound"
)

const (
	// realtime is the route of OpenAI's Realtime API.
	realtime = "/realtime"
	// streamTimeout is how long a text may take, at most: the sound can still be
	// asked about as a whole.
	streamTimeout = 5 * time.Second
	// streamPiece is how much sound is sent at once.
	streamPiece = pcmRate / 10
	// maxUnsent is how many pieces wait for a connection that is slow.
	maxUnsent = 300
	// maxEvent bounds what a service says at once.
	maxEvent = 256 << 10
	// maxAsked is how many texts are waited for at once.
	maxAsked = 64
)

// stream is one call's way to a service that takes speech while it is spoken: a session
// of OpenAI's Realtime API that transcribes, and leaves it to us when. It is a
// calllisten.Listening.
type stream struct {
	service *Service
	ctx     context.Context //nolint:containedctx // the life of the stream
	cancel  context.CancelCauseFunc
	failed  func(error) // told once
	out     chan []byte
	work    sync.WaitGroup

	mu     sync.Mutex
	rate   *callsound.Resampler
	unsent []int16
	heard  bool // something since it was asked last
	asked  []*part
}

var _ calllisten.Listening = (*stream)(nil)

// part is a text that was asked for.
type part struct {
	item string // the service's name for it, once it is known
	done chan struct{}
	text string
	err  error
}

// listen begins to listen to a call. It does not wait for a connection: what is heard
// meanwhile is kept.
func (s *Service) listen(ctx context.Context, language string, failed func(error)) *stream {
	st := &stream{
		service: s, failed: failed, out: make(chan []byte, maxUnsent),
		rate: callsound.NewResampler(callsound.HeardRate, pcmRate),
	}
	st.ctx, st.cancel = context.WithCancelCause(ctx)
	st.work.Go(func() {
		if err := st.talk(primary(language)); err != nil {
			st.fail(err)
		}
	})
	return st
}

// talk connects, and sends what is to be sent until the stream ends.
func (st *stream) talk(language string) error {
	conn, err := st.service.dial(st.ctx)
	if err != nil {
		return err
	}
	defer context.AfterFunc(st.ctx, func() { _ = conn.Close() })()
	defer func() { _ = conn.Close() }()
	conn.SetReadLimit(maxEvent)
	st.work.Go(func() { st.read(conn) })
	hello, err := json.Marshal(sessionUpdate(st.service.cfg.Model, language))
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	for event := hello; ; {
		if err := errors.Join(conn.SetWriteDeadline(time.Now().Add(st.service.cfg.First)),
			conn.WriteMessage(websocket.TextMessage, event)); err != nil {
			return away(err)
		}
		select {
		case event = <-st.out:
		case <-st.ctx.Done():
			return nil
		}
	}
}

// sessionUpdate asks for texts alone, when they are asked for.
func sessionUpdate(model, language string) any {
	transcription := map[string]any{"model": model}
	if language != "" {
		transcription["language"] = language
	}
	return map[string]any{"type": "session.update", "session": map[string]any{
		"type": "transcription",
		"audio": map[string]any{"input": map[string]any{
			"format":         map[string]any{"type": "audio/pcm", "rate": pcmRate},
			"transcription":  transcription,
			"turn_detection": nil,
		}},
	}}
}

// dial connects as the service's requests do.
func (s *Service) dial(ctx context.Context) (*websocket.Conn, error) {
	dialer := websocket.Dialer{HandshakeTimeout: s.cfg.First}
	if t, ok := s.cfg.Transport.(*http.Transport); ok {
		dialer.NetDialContext, dialer.Proxy = t.DialContext, t.Proxy
		if t.TLSClientConfig != nil {
			dialer.TLSClientConfig = t.TLSClientConfig.Clone()
			dialer.TLSClientConfig.NextProtos = []string{"http/1.1"}
		}
	}
	header := http.Header{}
	if s.cfg.Key != "" {
		header.Set("Authorization", "Bearer "+s.cfg.Key)
	}
	address := "ws" + strings.TrimPrefix(s.cfg.BaseURL, "http") + realtime + "?intent=transcription"
	conn, resp, err := dialer.DialContext(ctx, address, header)
	if resp != nil {
		_ = resp.Body.Close() // it has nothing that is read
	}
	switch {
	case errors.Is(err, websocket.ErrBadHandshake) && resp != nil:
		return nil, refused(resp.StatusCode)
	case err != nil:
		return nil, away(err)
	}
	return conn, nil
}

// read takes what the service says until the stream ends.
func (st *stream) read(conn *websocket.Conn) {
	for {
		_, data, err := conn.ReadMessage()
		if err != nil {
			st.fail(away(err))
			return
		}
		if err := st.event(data); err != nil {
			st.fail(err)
			return
		}
	}
}

// event takes what the service says; of most of it there is no need.
func (st *stream) event(data []byte) error {
	var e struct {
		Type       string `json:"type"`
		Item       string `json:"item_id"`
		Transcript string `json:"transcript"`
		Error      struct {
			Type string `json:"type"`
			Code string `json:"code"`
		} `json:"error"`
	}
	if json.Unmarshal(data, &e) != nil {
		return broken("an event is no JSON")
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	switch e.Type {
	case "input_audio_buffer.committed":
		if i := slices.IndexFunc(st.asked, func(p *part) bool { return p.item == "" }); i >= 0 {
			st.asked[i].item = e.Item
		}
	case "conversation.item.input_audio_transcription.completed":
		st.answer(e.Item, words(e.Transcript), nil)
	case "conversation.item.input_audio_transcription.failed":
		st.answer(e.Item, "", broken("a part was not understood (%.40q)", e.Error.Code))
	case "error":
		return broken("it says %.40q", cmp.Or(e.Error.Code, e.Error.Type))
	}
	return nil
}

// answer hands a text to who asked for it. The caller holds st.mu.
func (st *stream) answer(item, text string, err error) {
	i := slices.IndexFunc(st.asked, func(p *part) bool { return item != "" && p.item == item })
	if i < 0 {
		return
	}
	p := st.asked[i]
	st.asked = slices.Delete(st.asked, i, i+1)
	p.text, p.err = text, err
	close(p.done)
}

// fail ends the stream. A service that leaves while nothing is wanted of it has done no
// wrong.
func (st *stream) fail(err error) {
	st.mu.Lock()
	over := st.ctx.Err() != nil
	wanted := st.heard || len(st.asked) > 0
	st.end(err)
	st.mu.Unlock()
	if wanted && !over {
		st.failed(err)
	}
}

// end ends the stream, and the waiting for it. The caller holds st.mu.
func (st *stream) end(err error) {
	st.cancel(err)
	for _, p := range st.asked {
		p.err = err
		close(p.done)
	}
	st.asked = nil
}

// Hear implements calllisten.Listening.
func (st *stream) Hear(pcm []int16) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ctx.Err() != nil {
		return context.Cause(st.ctx)
	}
	st.heard = true
	st.unsent = st.rate.Add(st.unsent, pcm)
	if len(st.unsent) >= streamPiece {
		st.sendSound()
	}
	return nil
}

// sendSound sends what is left to be sent. The caller holds st.mu.
func (st *stream) sendSound() {
	if len(st.unsent) == 0 {
		return
	}
	raw := make([]byte, 0, 2*len(st.unsent))
	for _, s := range st.unsent {
		raw = binary.LittleEndian.AppendUint16(raw, uint16(s)) //nolint:gosec // the bits as they are
	}
	st.unsent = st.unsent[:0]
	st.send(`{"type":"input_audio_buffer.append","audio":"` + base64.StdEncoding.EncodeToString(raw) + `"}`)
}

// send queues an event; who is too far behind is given up. The caller holds st.mu.
func (st *stream) send(event string) {
	select {
	case st.out <- []byte(event):
	default:
		st.end(away(errSilent))
	}
}

// Understand implements calllisten.Listening.
func (st *stream) Understand() calllisten.Text {
	p := &part{done: make(chan struct{})}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.sendSound()
	st.heard = false
	if st.ctx.Err() == nil && len(st.asked) < maxAsked {
		st.asked = append(st.asked, p)
		st.send(`{"type":"input_audio_buffer.commit"}`)
	} else {
		p.err = away(cmp.Or(context.Cause(st.ctx), errSilent))
		close(p.done)
	}
	asked := time.Now()
	return func(ctx context.Context) (string, error) {
		late := time.NewTimer(time.Until(asked.Add(min(st.service.cfg.First, streamTimeout))))
		defer late.Stop()
		select {
		case <-p.done:
			return p.text, p.err
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-late.C:
			err := away(errSilent)
			st.fail(err)
			return "", err
		}
	}
}

// Forget implements calllisten.Listening.
func (st *stream) Forget() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.heard && st.ctx.Err() == nil {
		st.unsent = st.unsent[:0]
		st.send(`{"type":"input_audio_buffer.clear"}`)
	}
	st.heard = false
}

// Close implements calllisten.Listening.
func (st *stream) Close() {
	st.mu.Lock()
	st.end(context.Canceled)
	st.mu.Unlock()
	st.work.Wait()
}

// Streams reports whether it takes speech while it is spoken.
func (s *Service) Streams() bool { return s.cfg.Stream }

// RehearseStream has it understand sound as it comes, once.
func (s *Service) RehearseStream(ctx context.Context, pcm []int16) error {
	var failed error
	st := s.listen(ctx, "", func(err error) { failed = err })
	err := st.Hear(pcm)
	if err == nil {
		_, err = st.Understand()(ctx)
	}
	st.Close()
	err = cmp.Or(failed, err)
	if f, ok := errors.AsType[*ServiceError](err); ok {
		f.Streamed = true
	}
	return err
}
