package socketio_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/protocol/socketio"
	"github.com/castalia-org/castalia/internal/protocol/socketio/engineio"
	"github.com/castalia-org/castalia/internal/protocol/socketio/socketiotest"
)

func launch(b *testing.B, kind string, sockets int) *socketiotest.Load {
	b.Helper()
	l := socketiotest.Launch(b, benchServer+"="+kind)
	connect(l, sockets)
	return l
}

func connect(l *socketiotest.Load, sockets int) {
	l.Connect(sockets, func(int) string { return "" }, "", 1)
}

// rates runs rounds of work on both servers in turns, and reports how much each
// did in a second of its processor's time.
func rates(b *testing.B, unit string, sockets int, round func(t *socketiotest.Load) (done int)) {
	b.Helper()
	ours, bare := launch(b, "ours", sockets), launch(b, "bare", sockets)
	ours.Listen()
	bare.Listen()
	const block = 20
	work, spent := map[*socketiotest.Load]int{}, map[*socketiotest.Load]float64{}
	b.ResetTimer()
	for n := 0; n < b.N; n += block {
		for _, t := range []*socketiotest.Load{ours, bare} {
			before := t.CPU()
			for range min(block, b.N-n) {
				work[t] += round(t)
			}
			spent[t] += (t.CPU() - before).Seconds()
		}
	}
	b.StopTimer()
	mine, theirs := float64(work[ours])/spent[ours], float64(work[bare])/spent[bare]
	b.ReportMetric(mine, unit+"/cpu-s")
	b.ReportMetric(theirs, "bare-"+unit+"/cpu-s")
	b.ReportMetric(mine/theirs, "ratio")
}

// BenchmarkBroadcast sends events to a room of 1,000 sockets. The bar is 0.75
// of a bare WebSocket server.
func BenchmarkBroadcast(b *testing.B) {
	const sockets = 1000
	rates(b, "deliveries", sockets, func(t *socketiotest.Load) int {
		t.Write(t.Conns[0], `42["go"]`)
		for range sockets {
			<-t.Heard
		}
		return sockets
	})
}

// BenchmarkAck lets 50 sockets wait for an acknowledgement each. The bar is 0.7
// of a bare WebSocket server that echoes.
func BenchmarkAck(b *testing.B) {
	const sockets, each = 50, 20
	rates(b, "roundtrips", sockets, func(t *socketiotest.Load) int {
		for range each {
			for _, c := range t.Conns {
				t.Write(c, `4212["message",{"sessionId":"$s","text":"hello there"}]`)
			}
			for range sockets {
				<-t.Heard
			}
		}
		return sockets * each
	})
}

// BenchmarkIdle measures the memory of 5,000 sockets that do nothing. The bar
// is 12 KiB for each.
func BenchmarkIdle(b *testing.B) {
	const sockets = 5000
	perSocket := func(kind string) float64 {
		t := launch(b, kind, 10)
		before := t.Memory()
		connect(t, sockets)
		return float64(t.Memory()-before) / sockets / 1024
	}
	b.ReportMetric(perSocket("ours"), "KiB/socket") // once, whatever b.N is
	b.ReportMetric(perSocket("bare"), "bare-KiB/socket")
}

// BenchmarkDecode is the way of one event through both codecs.
func BenchmarkDecode(b *testing.B) {
	packet := []byte(benchPacket)
	b.SetBytes(int64(len(packet)))
	b.ReportAllocs()
	for b.Loop() {
		p, err := engineio.DecodePacket(packet)
		if err != nil {
			b.Fatal(err)
		}
		var d socketio.Decoder
		if _, _, err := d.Decode(engineio.Message{Data: p.Data}); err != nil {
			b.Fatal(err)
		}
	}
}
