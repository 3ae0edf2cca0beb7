package model_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/plugin"
)

func TestParsePrices(t *testing.T) {
	t.Parallel()
	got, err := model.ParsePrices([]string{"small=0.15/0.60", "vendor/large=x=3 / 15", "free=0/0"})
	want := model.Prices{"small": {Input: 0.15, Output: 0.6}, "vendor/large=x": {Input: 3, Output: 15}, "free": {}}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	for _, wrong := range []string{"small", "small=1", "=1/2", "small=1/", "small=-1/2", "small=NaN/1", "small=1/1e9", "small=a/b", "small=1/2/", "small=1/2/3/4/5"} {
		if got, err := model.ParsePrices([]string{wrong}); err == nil {
			t.Errorf("%q is read as %v", wrong, got)
		}
	}
	if _, err := model.ParsePrices([]string{"a=1/2", "a=1/2"}); err == nil {
		t.Error("a model is priced twice")
	}
}

func TestPricesMakeCost(t *testing.T) {
	t.Parallel()
	models := []model.Info{{ID: "small"}, {ID: "large"}}
	unknown := model.Prices{"small": {Input: 0.15, Output: 0.6}, "tiny": {}}.Apply(models)
	if d := cmp.Diff([]string{"tiny"}, unknown); d != "" {
		t.Error(d)
	}
	use := plugin.Usage{InputTokens: 2_000_000, OutputTokens: 1_000_000}
	if got := models[0].Cost(use); got != 900_000 { // 0.30 + 0.60 dollars
		t.Errorf("cost is %d millionths, want 900000", got)
	}
	if got := models[1].Cost(use); got != 0 {
		t.Errorf("a model without a price costs %d", got)
	}
}

// What was read before and what was thought have prices of their own.
func TestPartsHavePrices(t *testing.T) {
	t.Parallel()
	prices, err := model.ParsePrices([]string{"m=10/20/1/5", "n=10/20/1"})
	if err != nil {
		t.Fatal(err)
	}
	models := []model.Info{{ID: "m"}, {ID: "n"}}
	prices.Apply(models)
	use := plugin.Usage{InputTokens: 100, CachedTokens: 60, OutputTokens: 50, ReasoningTokens: 30}
	if got := models[0].Cost(use); got != 40*10+60*1+20*20+30*5 {
		t.Errorf("with both: %d", got)
	}
	if got := models[1].Cost(use); got != 40*10+60*1+50*20 {
		t.Errorf("with cached alone: %d", got)
	}
	if got := models[1].Cost(plugin.Usage{InputTokens: 10, CachedTokens: 60}); got != 10 {
		t.Errorf("more cached than read: %d", got)
	}
}
