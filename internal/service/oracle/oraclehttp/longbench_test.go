package oraclehttp_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/model/openai"
	"github.com/castalia-org/castalia/internal/service/oracle/model/wire"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
)

// talker is an endpoint that takes what it is sent and says sixty words.
type talker struct{ answer string }

func newTalker() talker {
	var b strings.Builder
	for range 60 {
		b.WriteString(`data: {"choices":[{"index":0,"delta":{"content":"several words "}}]}` + "\n\n")
	}
	b.WriteString(`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n")
	return talker{b.String()}
}

func (e talker) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return nil, err
		}
		_ = req.Body.Close()
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(strings.NewReader(e.answer)), Request: req,
	}, nil
}

// processorTime is what this process has used.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkLongConversation measures the processor time of a turn in conversations
// of two hundred turns beside those of ten, over the wire of a real endpoint that
// gets the whole conversation each time.
func BenchmarkLongConversation(b *testing.B) {
	const long, short = 200, 10
	p, err := openai.New(openai.Config{
		BaseURL: "http://talker.example/v1", Models: []model.Info{{ID: "talker", Window: 128_000}}, Wire: wire.Config{Transport: newTalker()},
	})
	if err != nil {
		b.Fatal(err)
	}
	n := oracletest.Start(b, p)
	question := strings.Repeat("a question of some length ", 8)
	converse := func(turns int) time.Duration {
		alice := n.As(b, identitytest.Alice)
		session := alice.Session()
		before := processorTime(b)
		for i := range turns {
			alice.Say(session, fmt.Sprint(i, question))
		}
		return processorTime(b) - before
	}
	converse(short) // warm up
	var inLong, inShort time.Duration
	rounds := 0
	for b.Loop() {
		rounds++
		inLong += converse(long)
		for range long / short {
			inShort += converse(short)
		}
	}
	perTurn := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(rounds*long) }
	b.ReportMetric(perTurn(inLong), "long-µs/turn")
	b.ReportMetric(perTurn(inShort), "short-µs/turn")
	b.ReportMetric(float64(inLong)/float64(inShort), "ratio")
}
