package oracletest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/service/oracle/usage"
	"github.com/castalia-org/castalia/plugin"
)

func testUsage(t *testing.T, st Store) {
	ctx := t.Context()
	one := plugin.Usage{InputTokens: 10, CachedTokens: 4, OutputTokens: 3, ReasoningTokens: 1, CostMicros: 7}
	row := func(day int64, owner, model, source string, n int64) usage.Row {
		r := usage.Row{
			Day: day, Owner: owner, Model: model, Source: source, Calls: n, Failed: n / 2, FirstMS: 100 * n, Firsts: n,
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
			[]usage.Row{{Calls: 8, Failed: 3, FirstMS: 800, Firsts: 8, Usage: row(0, "", "", "", 8).Usage}},
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

func with(r usage.Row, failed int64) usage.Row {
	r.Failed = failed
	return r
}
