package oracletest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/usage"
	"github.com/castalia-org/castalia/plugin"
)

func testUsage(t *testing.T, st Store) {
	ctx := t.Context()
	one := plugin.Usage{InputTokens: 10, CachedTokens: 4, OutputTokens: 3, ReasoningTokens: 1, CostMicros: 7}
	row := func(day int64, owner, model, source string, n int64) usage.Row {
		r := usage.Row{
			Day: day, Owner: owner, Model: model, Source: source, Messages: n, Calls: n, Failed: n / 2,
			FirstMS: 100 * n, Firsts: n,
		}
		for range n {
			r.Usage = r.Usage.Add(one)
		}
		return r
	}
	must(t, st.AddUsage(ctx, nil))
	must(t,
		st.AddUsage(ctx, []usage.Row{
			row(1, Owner, "m", "oracle", 1), row(1, Owner, "m", "face", 2), row(2, Stranger, "n", "oracle", 4),
		}))
	must(t, st.AddUsage(ctx, []usage.Row{row(1, Owner, "m", "oracle", 1), row(3, Owner, "n", "oracle", 2)}))
	for name, c := range map[string]struct {
		q    usage.Query
		want []usage.Row
	}{
		"everything": {
			usage.Query{From: 1, To: 2},
			[]usage.Row{{Messages: 8, Calls: 8, Failed: 3, FirstMS: 800, Firsts: 8, Usage: row(0, "", "", "", 8).Usage}},
		},
		"nothing": {usage.Query{From: 7, To: 8}, nil},
		"by user": {
			usage.Query{From: 1, To: 2, By: []usage.Dimension{usage.ByUser}},
			[]usage.Row{with(row(0, Owner, "", "", 4), 1), row(0, Stranger, "", "", 4)},
		},
		"of a user": {
			usage.Query{From: 1, To: 9, By: []usage.Dimension{usage.ByDay, usage.ByModel}, Owner: Owner},
			[]usage.Row{with(row(1, "", "m", "", 4), 1), row(3, "", "n", "", 2)},
		},
		"of a source": {
			usage.Query{From: 1, To: 9, By: []usage.Dimension{usage.BySource}, Source: "face"},
			[]usage.Row{row(0, "", "", "face", 2)},
		},
		"of a model": {
			usage.Query{From: 1, To: 9, By: []usage.Dimension{usage.ByDay}, Model: "n"},
			[]usage.Row{row(2, "", "", "", 4), row(3, "", "", "", 2)},
		},
	} {
		got, err := st.Usage(ctx, c.q)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// Who spent most in a month, and nobody of another one.
func testSpenders(t *testing.T, st Store) {
	ctx := t.Context()
	november := oracle.DayOf(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))
	row := func(day int64, owner, model string, tokens, cost int64) usage.Row {
		return usage.Row{
			Day: day, Owner: owner, Model: model, Source: "oracle", Messages: 1, Calls: 2,
			Usage: plugin.Usage{InputTokens: tokens - 1, OutputTokens: 1, CostMicros: cost},
		}
	}
	must(t, st.AddUsage(ctx, []usage.Row{
		row(november-1, Stranger, "m", 5000, 5000), row(november, Owner, "m", 10, 7), row(november, "did:key:free", "m", 900, 0),
		row(november, Stranger, "n", 20, 8), row(november+29, Owner, "m", 10, 7), row(november+29, Owner, "n", 10, 1),
		row(november+30, Owner, "m", 7000, 7000),
	}))
	must(t, st.AddUsage(ctx, []usage.Row{row(november+1, "did:key:none", "m", 30, 0), row(november+1, Stranger, "m", 1, 1)}))
	got, err := st.Spenders(ctx, november, 3)
	must(t, err)
	want := []usage.Spender{
		{Owner: Owner, Messages: 3, Calls: 6, Tokens: 30, CostMicros: 15},
		{Owner: Stranger, Messages: 2, Calls: 4, Tokens: 21, CostMicros: 9},
		{Owner: "did:key:free", Messages: 1, Calls: 2, Tokens: 900},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("spenders of November (-want +got):\n%s", d)
	}
	december := oracle.MonthOf(november + 30)
	if got, err := st.Spenders(ctx, december, 3); err != nil || len(got) != 1 || got[0].CostMicros != 7000 {
		t.Errorf("spenders of December: %v %v", got, err)
	}
	if got, err := st.Spenders(ctx, november+1, 3); err != nil || len(got) != 0 {
		t.Errorf("spenders of no month: %v %v", got, err)
	}
}

func with(r usage.Row, failed int64) usage.Row {
	r.Failed = failed
	return r
}
