// Package bustest is the contract that every bus keeps, as tests, and a bus
// that makes full use of the licence to lose, double and reorder.
package bustest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/bus"
	"github.com/castalia-org/castalia/internal/platform/fault"
)

// deliveryLimit bounds waiting for what must happen; it is no measure of speed.
const deliveryLimit = 20 * time.Second

// Open returns two nodes' views of one bus and closes them after the test. An
// in-process bus returns itself twice.
type Open func(t *testing.T) (a, b bus.Bus)

// Contract runs the promises of package bus against an implementation.
func Contract(t *testing.T, open Open) {
	t.Helper()
	tests := []struct {
		name string
		run  func(*testing.T, Open)
	}{
		{"delivers to every subscriber", delivers},
		{"matches wildcards", wildcards},
		{"runs one function at a time", serial},
		{"unsubscribe ends delivery", unsubscribe},
		{"a slow consumer is bounded", slowConsumer},
		{"keeps no hold of the publisher's bytes", ownBytes},
		{"request gets an answer", request},
		{"request without a responder fails at once", noResponder},
		{"request ends with its context", requestCanceled},
		{"an error keeps its public part", publicError},
		{"one responder answers", oneResponder},
		{"a full pool refuses", fullPool},
		{"refuses bad subjects and large payloads", refusals},
		{"close is final", closeIsFinal},
		{"readers survive lost, doubled and reordered hints", reconciles},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, open)
		})
	}
}

func subject(t *testing.T, words ...string) string {
	return strings.Join(append([]string{bus.Token(t.Name())}, words...), ".")
}

func publish(t *testing.T, b bus.Bus, subject, data string) {
	t.Helper()
	if err := b.Publish(t.Context(), subject, []byte(data)); err != nil {
		t.Fatalf("Publish(%q): %v", subject, err)
	}
}

func subscribe(t *testing.T, b bus.Bus, subject string, fn func(bus.Message)) bus.Subscription {
	t.Helper()
	s, err := b.Subscribe(subject, fn)
	if err != nil {
		t.Fatalf("Subscribe(%q): %v", subject, err)
	}
	// Publishing from another connection must not overtake the interest.
	if err := b.Ping(t.Context()); err != nil {
		t.Fatalf("Ping: %v", err)
	}
	return s
}

func respond(t *testing.T, b bus.Bus, subject string, fn bus.Responder) bus.Subscription {
	t.Helper()
	s, err := b.Respond(subject, fn)
	if err != nil {
		t.Fatalf("Respond(%q): %v", subject, err)
	}
	if err := b.Ping(t.Context()); err != nil {
		t.Fatalf("Ping: %v", err)
	}
	return s
}

func receive[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(deliveryLimit):
		t.Fatal("nothing arrived")
		panic("unreachable")
	}
}

func delivers(t *testing.T, open Open) {
	a, b := open(t)
	gotA, gotB := make(chan bus.Message, 4), make(chan bus.Message, 4)
	subscribe(t, a, subject(t, "x"), func(m bus.Message) { gotA <- m })
	subscribe(t, b, subject(t, "x"), func(m bus.Message) { gotB <- m })
	publish(t, a, subject(t, "x"), "hello")
	want := bus.Message{Subject: subject(t, "x"), Data: []byte("hello")}
	for _, ch := range []chan bus.Message{gotA, gotB} {
		if diff := cmp.Diff(want, receive(t, ch)); diff != "" {
			t.Errorf("message (-want +got):\n%s", diff)
		}
	}
}

func wildcards(t *testing.T, open Open) {
	b, _ := open(t)
	one, tail := make(chan string, 8), make(chan string, 8)
	subscribe(t, b, subject(t, "*", "end"), func(m bus.Message) { one <- string(m.Data) })
	subscribe(t, b, subject(t, ">"), func(m bus.Message) { tail <- string(m.Data) })
	publish(t, b, subject(t, "a", "b", "end"), "deep")
	publish(t, b, subject(t, "a", "end"), "flat")
	if got := receive(t, one); got != "flat" {
		t.Errorf("the one-word wildcard got %q, want flat", got)
	}
	if got := []string{receive(t, tail), receive(t, tail)}; !cmp.Equal(got, []string{"deep", "flat"}) {
		t.Errorf("the tail wildcard got %q", got)
	}
}

func serial(t *testing.T, open Open) {
	b, _ := open(t)
	var running, worst atomic.Int32
	done := make(chan struct{}, 100)
	subscribe(t, b, subject(t, "x"), func(bus.Message) {
		worst.Store(max(worst.Load(), running.Add(1)))
		time.Sleep(100 * time.Microsecond)
		running.Add(-1)
		done <- struct{}{}
	})
	for range 100 {
		publish(t, b, subject(t, "x"), "m")
	}
	for range 100 {
		receive(t, done)
	}
	if got := worst.Load(); got != 1 {
		t.Errorf("%d functions of one subscription ran at the same time", got)
	}
}

func unsubscribe(t *testing.T, open Open) {
	b, _ := open(t)
	var after atomic.Int32
	s := subscribe(t, b, subject(t, "x"), func(bus.Message) { after.Add(1) })
	if err := s.Unsubscribe(); err != nil {
		t.Fatalf("Unsubscribe: %v", err)
	}
	probe := make(chan struct{}, 1)
	subscribe(t, b, subject(t, "x"), func(bus.Message) { probe <- struct{}{} })
	publish(t, b, subject(t, "x"), "late")
	receive(t, probe)
	if got := after.Load(); got != 0 {
		t.Errorf("%d messages after Unsubscribe", got)
	}
}

func slowConsumer(t *testing.T, open Open) {
	slow, publisher := open(t)
	enter, leave := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var mu sync.Mutex
	var got []string
	last := make(chan struct{})
	s := subscribe(t, slow, subject(t, "x"), func(m bus.Message) {
		once.Do(func() { close(enter); <-leave })
		mu.Lock()
		got = append(got, string(m.Data))
		mu.Unlock()
		if string(m.Data) == "last" {
			close(last)
		}
	})
	quick := make(chan string, 1)
	subscribe(t, slow, subject(t, "quick"), func(m bus.Message) { quick <- string(m.Data) })
	publish(t, publisher, subject(t, "x"), "first")
	receive(t, enter)
	for i := range bus.InboxMessages + 500 {
		publish(t, publisher, subject(t, "x"), fmt.Sprint(i))
	}
	publish(t, publisher, subject(t, "x"), "last")
	publish(t, publisher, subject(t, "quick"), "passes")
	if got := receive(t, quick); got != "passes" {
		t.Errorf("another subscription got %q", got)
	}
	close(leave)
	receive(t, last)
	mu.Lock()
	defer mu.Unlock()
	if len(got) > bus.InboxMessages+1 {
		t.Errorf("%d messages were kept for a consumer that did not move; the bound is %d", len(got), bus.InboxMessages)
	}
	if want := uint64(bus.InboxMessages + 502 - len(got)); s.Dropped() != want {
		t.Errorf("Dropped() = %d, want %d", s.Dropped(), want)
	}
}

func ownBytes(t *testing.T, open Open) {
	b, _ := open(t)
	got := make(chan string, 1)
	gate := make(chan struct{})
	subscribe(t, b, subject(t, "x"), func(m bus.Message) { <-gate; got <- string(m.Data) })
	data := []byte("before")
	if err := b.Publish(t.Context(), subject(t, "x"), data); err != nil {
		t.Fatal(err)
	}
	copy(data, "after!")
	close(gate)
	if s := receive(t, got); s != "before" {
		t.Errorf("the subscriber saw %q", s)
	}
}

func request(t *testing.T, open Open) {
	a, b := open(t)
	respond(t, a, subject(t, "echo"), func(_ context.Context, data []byte) ([]byte, error) {
		return append([]byte("re: "), data...), nil
	})
	got, err := b.Request(t.Context(), subject(t, "echo"), []byte("hi"))
	if err != nil || string(got) != "re: hi" {
		t.Errorf("Request = %q, %v", got, err)
	}
}

func noResponder(t *testing.T, open Open) {
	b, _ := open(t)
	if _, err := b.Request(t.Context(), subject(t, "nobody"), nil); !errors.Is(err, bus.ErrNoResponder) {
		t.Errorf("Request to nobody: %v, want ErrNoResponder", err)
	}
}

func requestCanceled(t *testing.T, open Open) {
	a, b := open(t)
	entered := make(chan struct{})
	release := make(chan struct{})
	defer close(release)
	respond(t, a, subject(t, "stuck"), func(context.Context, []byte) ([]byte, error) {
		close(entered)
		<-release
		return nil, nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-entered; cancel() }()
	if _, err := b.Request(ctx, subject(t, "stuck"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Request: %v, want context.Canceled", err)
	}
}

func publicError(t *testing.T, open Open) {
	a, b := open(t)
	respond(t, a, subject(t, "refuse"), func(context.Context, []byte) ([]byte, error) {
		return nil, fault.Wrap(fault.Conflict, "It is taken.", errors.New("row 7 of secrets")).WithCode("taken")
	})
	respond(t, a, subject(t, "panic"), func(context.Context, []byte) ([]byte, error) {
		return nil, errors.New("password is hunter2")
	})
	_, err := b.Request(t.Context(), subject(t, "refuse"), nil)
	if f := fault.From(err); err == nil || f.Kind != fault.Conflict || f.Message != "It is taken." || f.Code != "taken" {
		t.Errorf("Request: %#v, want the responder's public fault", err)
	} else if strings.Contains(err.Error(), "secrets") {
		t.Errorf("the private cause travelled: %v", err)
	}
	_, err = b.Request(t.Context(), subject(t, "panic"), nil)
	if !fault.Is(err, fault.Internal) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("an unclassified error arrived as %v", err)
	}
}

func oneResponder(t *testing.T, open Open) {
	a, b := open(t)
	var calls atomic.Int32
	count := func(context.Context, []byte) ([]byte, error) { calls.Add(1); return nil, nil }
	respond(t, a, subject(t, "work"), count)
	respond(t, b, subject(t, "work"), count)
	for range 20 {
		if _, err := a.Request(t.Context(), subject(t, "work"), nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := calls.Load(); got != 20 {
		t.Errorf("20 requests made %d calls", got)
	}
}

func fullPool(t *testing.T, open Open) {
	a, b := open(t)
	entered, release := make(chan struct{}, bus.RespondParallel), make(chan struct{})
	s := respond(t, a, subject(t, "full"), func(context.Context, []byte) ([]byte, error) {
		entered <- struct{}{}
		<-release
		return nil, nil
	})
	var wg sync.WaitGroup
	for range bus.RespondParallel {
		wg.Go(func() {
			if _, err := b.Request(t.Context(), subject(t, "full"), nil); err != nil {
				t.Errorf("a request that found a place: %v", err)
			}
		})
	}
	for range bus.RespondParallel {
		receive(t, entered)
	}
	if _, err := b.Request(t.Context(), subject(t, "full"), nil); fault.From(err).Code != bus.ErrBusy.Code {
		t.Errorf("a request too many: %v, want ErrBusy", err)
	}
	if s.Dropped() != 1 {
		t.Errorf("Dropped() = %d, want 1", s.Dropped())
	}
	close(release)
	wg.Wait()
}

func refusals(t *testing.T, open Open) {
	b, _ := open(t)
	for _, bad := range []string{"", ".", "a.", ".a", "a..b", "a b", "a\n", "a.*", "a.>", "a*", strings.Repeat("x", 600)} {
		if err := b.Publish(t.Context(), bad, nil); !fault.Is(err, fault.Invalid) {
			t.Errorf("Publish(%q): %v, want invalid", bad, err)
		}
	}
	for _, bad := range []string{"", "a..b", "a.>.b", "a>", "*a", "a b"} {
		if _, err := b.Subscribe(bad, func(bus.Message) {}); !fault.Is(err, fault.Invalid) {
			t.Errorf("Subscribe(%q): %v, want invalid", bad, err)
		}
	}
	if err := b.Publish(t.Context(), subject(t, "x"), make([]byte, bus.MaxData+1)); !fault.Is(err, fault.TooLarge) {
		t.Errorf("a payload too large: %v", err)
	}
	got := make(chan int, 1)
	subscribe(t, b, subject(t, "x"), func(m bus.Message) { got <- len(m.Data) })
	if err := b.Publish(t.Context(), subject(t, "x"), make([]byte, bus.MaxData)); err != nil {
		t.Errorf("the largest payload: %v", err)
	}
	if n := receive(t, got); n != bus.MaxData {
		t.Errorf("the largest payload arrived with %d bytes", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Publish(ctx, subject(t, "x"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Publish with a dead context: %v", err)
	}
}

func closeIsFinal(t *testing.T, open Open) {
	b, _ := open(t)
	entered := make(chan struct{})
	var left atomic.Bool
	subscribe(t, b, subject(t, "x"), func(bus.Message) {
		close(entered)
		time.Sleep(10 * time.Millisecond)
		left.Store(true)
	})
	publish(t, b, subject(t, "x"), "m")
	receive(t, entered)
	if err := b.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	if !left.Load() {
		t.Error("Close returned while a function was running")
	}
	if err := b.Publish(t.Context(), subject(t, "x"), nil); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("Publish after Close: %v", err)
	}
	if _, err := b.Subscribe(subject(t, "x"), func(bus.Message) {}); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("Subscribe after Close: %v", err)
	}
	if err := b.Ping(t.Context()); err == nil {
		t.Error("Ping after Close succeeded")
	}
	if err := b.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

// reconciles shows what the contract asks of readers: a reader with a cursor
// over the truth and hints as wake-ups sees every row once and in order.
func reconciles(t *testing.T, open Open) {
	const rows = 400
	reader, writer := open(t)
	flaky := Flaky(writer, 7)
	var mu sync.Mutex
	var truth []int
	wake := make(chan struct{}, 1)
	subscribe(t, reader, subject(t, "row"), func(bus.Message) {
		select {
		case wake <- struct{}{}:
		default:
		}
	})
	var seen []int
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for len(seen) < rows {
			select {
			case <-wake:
			case <-tick.C:
			case <-t.Context().Done():
				return
			}
			mu.Lock()
			seen = append(seen, truth[len(seen):]...)
			mu.Unlock()
		}
	}()
	want := make([]int, rows)
	for i := range rows {
		want[i] = i
		mu.Lock()
		truth = append(truth, i)
		mu.Unlock()
		publish(t, flaky, subject(t, "row"), fmt.Sprint(i))
	}
	receive(t, finished)
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if flaky.Lost == 0 || flaky.Doubled == 0 || flaky.Reordered == 0 {
		t.Errorf("the bus behaved too well: %d lost, %d doubled, %d reordered", flaky.Lost, flaky.Doubled, flaky.Reordered)
	}
}
