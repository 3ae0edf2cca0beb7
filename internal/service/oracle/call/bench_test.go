package call_test

import (
	"context"
	"encoding/binary"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pion/rtp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/goruntime"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/call/callsound"
	"github.com/castalia-org/castalia/internal/service/oracle/call/calltest"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/plugin"
)

// Each benchmark measures a call beside a bare echo peer, in turns within one
// run: the figures depend on the machine, their ratio does not.
//
//	go test -run '^$' -bench . ./internal/service/oracle/call

// BenchmarkSetUp is the time from the wish to call until the data channel is
// open: record, signature, socket, offer, answer, ICE, DTLS, SCTP.
func BenchmarkSetUp(b *testing.B) {
	n := calltest.Start(b, calltest.Setup{Call: call.Config{PerUser: 1 << 20, PerNode: 1 << 20}})
	p := calltest.NewPage(b, n, identitytest.Alice)
	var ours, bare []time.Duration
	for b.Loop() {
		began := time.Now()
		p.Create(call.Audio, false)
		p.NewPeer()
		p.Offer(false)
		p.Await("hello")
		ours = append(ours, time.Since(began))
		b.StopTimer()
		p.Hang()
		for n.Calls.Stats().Live > 0 { // what ends must not disturb what begins
			time.Sleep(time.Millisecond)
		}
		b.StartTimer()
		began = time.Now()
		echo := calltest.Bare(b, call.Audio)
		bare = append(bare, time.Since(began))
		echo.Hang()
	}
	report(b, "ms/call", "ms/bare", median(ours), median(bare))
}

// median is in milliseconds. A packet that is sent again after a timeout makes a mean
// one of timeouts.
func median(all []time.Duration) float64 {
	slices.Sort(all)
	return float64(all[len(all)/2].Microseconds()) / 1000
}

func report(b *testing.B, ourName, bareName string, ours, bare float64) {
	b.ReportMetric(ours, ourName)
	b.ReportMetric(bare, bareName)
	b.ReportMetric(ours/bare, "ratio")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkDelay is how long a packet of video takes to the server and back,
// and what of it one way through the server adds to a bare echo.
func BenchmarkDelay(b *testing.B) {
	n := calltest.Start(b, calltest.Setup{})
	p := calltest.NewPage(b, n, identitytest.Alice)
	p.Ring(call.Video, false)
	echo := calltest.Bare(b, call.Video)
	trips := [2]*trip{newTrip(p), newTrip(echo)}
	var total [2]time.Duration
	for b.Loop() {
		for i, t := range trips {
			total[i] += t.once()
		}
	}
	ours, bare := float64(total[0].Nanoseconds())/1000/float64(b.N), float64(total[1].Nanoseconds())/1000/float64(b.N)
	report(b, "µs/trip", "µs/bare", ours, bare)
	b.ReportMetric((ours-bare)/2, "µs/added-one-way")
}

// trip sends packets that carry a number, and waits for each to come back.
type trip struct {
	p    *calltest.Page
	seq  uint16
	back chan uint32
}

func newTrip(p *calltest.Page) *trip {
	t := &trip{p: p, back: make(chan uint32, 64)}
	p.Seen = func(packet *rtp.Packet) {
		if len(packet.Payload) >= 8 {
			select {
			case t.back <- binary.BigEndian.Uint32(packet.Payload[4:]):
			default:
			}
		}
	}
	return t
}

func (t *trip) once() time.Duration {
	for {
		t.seq++
		payload := make([]byte, 1000)
		payload[0] = 0x10
		binary.BigEndian.PutUint32(payload[4:], uint32(t.seq))
		began := time.Now()
		t.p.Camera(&rtp.Packet{Header: rtp.Header{
			Version: 2, Marker: true, SequenceNumber: t.seq, Timestamp: 3000 * uint32(t.seq),
		}, Payload: payload})
		lost := time.After(time.Second)
		for {
			select {
			case got := <-t.back:
				if got == uint32(t.seq) {
					return time.Since(began)
				}
				continue
			case <-lost: // the first ones, before the track is known
			}
			break
		}
	}
}

// BenchmarkCPU is what calls cost while the caller's microphone is open: both
// ends are in this process, so the bare figure has the same pages in it.
func BenchmarkCPU(b *testing.B) {
	const calls = 8
	n := calltest.Start(b, calltest.Setup{Call: call.Config{PerUser: calls, PerNode: calls}})
	var pages [2][]*calltest.Page
	for range calls {
		p := calltest.NewPage(b, n, identitytest.Alice)
		p.Ring(call.Audio, false)
		pages[0] = append(pages[0], p)
		pages[1] = append(pages[1], calltest.Bare(b, call.Audio))
	}
	time.Sleep(2 * time.Second) // the greetings are over
	var used [2]time.Duration
	var spent [2]time.Duration
	for b.Loop() {
		for i := range pages {
			before, began := cpu(), time.Now()
			tick := time.NewTicker(callsound.FrameTime)
			for range 50 { // a second of sound
				for _, p := range pages[i] {
					p.Mumble()
				}
				<-tick.C
			}
			tick.Stop()
			used[i] += cpu() - before
			spent[i] += time.Since(began)
		}
	}
	per := func(i int) float64 { return used[i].Seconds() / spent[i].Seconds() / calls * 100 }
	report(b, "%cpu/call", "%cpu/bare", per(0), per(1))
}

// BenchmarkAnswer is the time from the end of speech to the first sound of the
// answer, at the pace of life, with services and a model that answer at once. What
// is not silence that was waited for is ours. Its parts: until the end of the
// sentence was certain and the model was asked, until the voice was asked to speak
// the first clause, and until that was heard.
func BenchmarkAnswer(b *testing.B) {
	var at moments
	n := calltest.Start(b, calltest.Setup{
		Hearing: atOnce("What is the weather in London?"), Voice: noted{&at},
		Provider: scripted.New(func(plugin.ModelRequest) scripted.Reply {
			at.note(&at.asked)
			return scripted.Text("It rains.")
		}),
	})
	p := calltest.NewPage(b, n, identitytest.Alice)
	p.Ring(call.Audio, false)
	p.Await("state", "state", "listening")
	p.Pause(1) // the background is known
	var total, end, turn, voice time.Duration
	for b.Loop() {
		p.Live(time.Second, func() bool { p.Hear(0); return true }) // and forget what came before
		at.forget()
		stopped := time.Now()
		p.Live(0, func() bool { return slices.ContainsFunc(p.Hear(0), func(s int16) bool { return s > 1000 }) })
		heard := time.Now()
		asked, spoke := at.read()
		total += heard.Sub(stopped)
		end += asked.Sub(stopped)
		turn += spoke.Sub(asked)
		voice += heard.Sub(spoke)
		p.Await("state", "state", "listening")
	}
	each := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(b.N) }
	b.ReportMetric(each(total), "ms/first-sound")
	b.ReportMetric(each(end), "ms/to-model")
	b.ReportMetric(each(turn), "ms/to-voice")
	b.ReportMetric(each(voice), "ms/to-ear")
	b.ReportMetric(0, "ns/op")
}

// moments are when an answer got where, each the first time.
type moments struct {
	mu           sync.Mutex
	asked, spoke time.Time
}

func (m *moments) note(at *time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at.IsZero() {
		*at = time.Now()
	}
}

func (m *moments) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked, m.spoke = time.Time{}, time.Time{}
}

func (m *moments) read() (asked, spoke time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked, m.spoke
}

// noted is the built-in voice, and notes when it is asked.
type noted struct{ at *moments }

func (v noted) Speak(ctx context.Context, t call.Text) (call.Sound, error) {
	v.at.note(&v.at.spoke)
	return call.Tone{}.Speak(ctx, t)
}

// atOnce understands everything as the same sentence.
type atOnce string

func (s atOnce) Transcribe(context.Context, call.Speech) (string, error) { return string(s), nil }

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkHundredCalls is how late the oracle's voice comes in a hundred calls at
// once: ninety callers speak without a pause, ten are spoken to. A frame is late by
// what it comes after its time, counted from the earliest one of its call; timers that
// do nothing say how late the machine itself is. Both ends are in this process, the
// figures of memory too.
func BenchmarkHundredCalls(b *testing.B) {
	const calls, told = 100, 10
	const phases = 10 // microphones know nothing of each other: their frames do not all begin at the same moment

	// Lateness is Go's scheduler's, so it is set as in a server.
	b.Cleanup(goruntime.Serve(os.Getenv))
	empty := inUse()
	var bare []*calltest.Page
	for range calls {
		bare = append(bare, calltest.Bare(b, call.Audio))
	}
	echoes := inUse()
	for _, p := range bare {
		p.Hang()
	}
	story := strings.Repeat("This is a sentence that lasts for as long as one may, and longer than most of them do. ", 100)
	n := calltest.Start(b, calltest.Setup{
		Call: call.Config{PerUser: calls, PerNode: calls}, Hearing: atOnce(""), Voice: talker{},
		Provider: scripted.New(func(plugin.ModelRequest) scripted.Reply { return scripted.Text(story) }),
	})
	before := inUse()
	var pages []*calltest.Page
	var mu sync.Mutex
	var late [told][]time.Duration // after the time of its number
	for i := range calls {
		p := calltest.NewPage(b, n, identitytest.Alice)
		if i < told {
			var began time.Time
			var first uint32
			p.Arrived = func(packet *rtp.Packet) {
				mu.Lock()
				defer mu.Unlock()
				if began.IsZero() {
					began, first = time.Now(), packet.Timestamp
				}
				due := time.Duration(packet.Timestamp-first) * time.Second / callsound.SpokenRate
				late[i] = append(late[i], time.Since(began)-due)
			}
		}
		p.Ring(call.Audio, false)
		pages = append(pages, p)
	}
	memory := inUse() - before
	for _, p := range pages[:told] {
		p.Send(map[string]any{"type": "text", "text": "tell me a story"})
		p.Await("state", "state", "speaking")
	}
	timers := bareTimers(b, told)
	used, began := cpu(), time.Now()
	for b.Loop() {
		tick := time.NewTicker(callsound.FrameTime / phases)
		for at := range 250 * phases { // five seconds
			for i := told + at%phases; i < calls; i += phases {
				pages[i].Mumble()
			}
			<-tick.C
		}
		tick.Stop()
	}
	b.ReportMetric((cpu()-used).Seconds()/time.Since(began).Seconds(), "cores")
	var all []time.Duration
	mu.Lock()
	defer mu.Unlock()
	for _, one := range late {
		if len(one) < 200 { // of the 250 frames of five seconds, some are pauses
			b.Fatalf("a caller heard %d frames", len(one))
		}
		earliest := slices.Min(one)
		for _, at := range one {
			all = append(all, at-earliest)
		}
	}
	b.ReportMetric(p99(all), "ms/late-p99")
	b.ReportMetric(p99(timers()), "ms/bare-timer-p99")
	b.ReportMetric(float64(memory)/calls/1000, "KB/call")
	b.ReportMetric(float64(echoes-empty)/calls/1000, "KB/bare")
	b.ReportMetric(0, "ns/op")
}

// p99 is in milliseconds.
func p99(all []time.Duration) float64 {
	slices.Sort(all)
	return float64(all[len(all)*99/100].Microseconds()) / 1000
}

// bareTimers go off as often as frames are due, and tell how late they were.
func bareTimers(b *testing.B, many int) (lateness func() []time.Duration) {
	ctx, cancel := context.WithCancel(b.Context())
	late := make([][]time.Duration, many)
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			for next := time.Now(); ctx.Err() == nil; next = next.Add(callsound.FrameTime) {
				time.Sleep(time.Until(next))
				late[i] = append(late[i], time.Since(next))
			}
		})
	}
	return func() []time.Duration {
		cancel()
		all.Wait()
		return slices.Concat(late...)
	}
}

// talker speaks each sentence for four seconds, so that nothing of it is a pause, in
// which nothing would be sent.
type talker struct{}

func (talker) Speak(context.Context, call.Text) (call.Sound, error) {
	return &harmonics{left: voice()}, nil
}

// harmonics sound like a voice.
type harmonics struct{ left []int16 }

// voice is four seconds of a pitch that wavers, in syllables. It is made once: a third of
// what a hundred calls cost was the benchmark's own sines.
var voice = sync.OnceValue(func() []int16 {
	out := make([]int16, 4*callsound.SpokenRate)
	for i := range out {
		at := 2 * math.Pi * float64(i) / callsound.SpokenRate
		sum := 0.0
		for k := 1.0; k <= 8; k++ {
			sum += math.Sin(k*(140*at+2*math.Sin(5*at))) / k
		}
		out[i] = int16(5000 * sum * (0.6 + 0.4*math.Sin(3*at)))
	}
	return out
})

func (*harmonics) Rate() int    { return callsound.SpokenRate }
func (*harmonics) Close() error { return nil }

func (h *harmonics) Read(dst []int16) (int, error) {
	if len(h.left) == 0 {
		return 0, io.EOF
	}
	n := copy(dst, h.left)
	h.left = h.left[n:]
	return n, nil
}

// inUse is what heap and stacks hold.
func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
