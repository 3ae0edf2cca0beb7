package ussdcount_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/service/ussd/ussdcount"
)

func TestFiguresAddUp(t *testing.T) {
	t.Parallel()
	counts := map[ussdcount.Count]int64{
		{Kind: ussdcount.CountBegun}: 10, {Menu: "hubtel", Kind: ussdcount.CountBegun}: 2,
		{Menu: "v1", Kind: ussdcount.CountEnded, From: "bye"}: 6, {Menu: "v2", Kind: ussdcount.CountEnded, From: "bye"}: 3,
		{Menu: "v1", Kind: ussdcount.CountLeft, From: "pin"}: 2, {Menu: "v2", Kind: ussdcount.CountLeft, From: "pin"}: 1,
		{Menu: "v1", Kind: ussdcount.CountLeft, From: "name"}:                               3,
		{Menu: "v1", Kind: ussdcount.CountShown, From: "pin"}:                               50,
		{Menu: "hubtel", Kind: ussdcount.CountRefused, From: "Mobile", To: "must be E.164"}: 4,
	}
	took := func(dialect, result string, d time.Duration, n int64) {
		counts[ussdcount.Took(dialect, result, d)] += n
	}
	took("", "moved", 3*time.Millisecond, 94)
	took("", "replayed", 200*time.Millisecond, 5)
	took("", "failed", time.Minute, 1)
	took("hubtel", "refused", 10*time.Second, 1) // the other three could not even be read
	took("hubtel", "moved", 2*time.Millisecond, 1)
	want := ussdcount.Figures{
		Sessions: ussdcount.Sessions{Begun: 12, Completed: 9, Left: 6, Completion: 0.6},
		Drops:    []ussdcount.Drop{{Screen: "name", Left: 3}, {Screen: "pin", Left: 3}},
		Gateways: []ussdcount.Gateway{
			{Begun: 10, Requests: 100, Replayed: 5, Failed: 1, P95: 250},
			{Dialect: "hubtel", Begun: 2, Requests: 5, Refused: 4, P95: 2},
		},
		Refusals: []ussdcount.Refusal{{Dialect: "hubtel", Field: "Mobile", Rule: "must be E.164", Count: 4}},
	}
	if d := cmp.Diff(want, ussdcount.Sum(counts)); d != "" {
		t.Error(d)
	}
	if got := ussdcount.Sum(nil); got.Sessions.Completion != 0 || got.Drops == nil || got.Gateways == nil ||
		got.Refusals == nil {
		t.Errorf("%+v", got)
	}
}

func TestTimesAreSorted(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "1", time.Millisecond: "1", time.Millisecond + 1: "2", 7 * time.Millisecond: "10", 10 * time.Millisecond: "10",
		9 * time.Second: "10000", time.Hour: "10000",
	} {
		if got := ussdcount.Took("x", "moved", d); got.From != want || got.Menu != "x" || got.To != "moved" {
			t.Errorf("%v: %+v", d, got)
		}
	}
}
