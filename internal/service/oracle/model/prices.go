package model

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Prices are what models cost, by their ids.
type Prices map[string]Price

// Price is in US dollars per million tokens. Cached is what input costs that the
// provider had read before, and Reasoning what thoughts cost; nil is as the rest.
type Price struct {
	Input, Output     float64
	Cached, Reasoning *float64
}

// maxPrice is the highest price that is believed: a slip of the comma is not.
const maxPrice = 100_000

// ParsePrices reads "model=input/output" items, as in "small=0.15/0.60", where the
// price of cached input and that of reasoning may follow: "small=0.15/0.60/0.02".
// A model that is named twice is refused.
func ParsePrices(items []string) (Prices, error) {
	out := Prices{}
	for _, item := range items {
		cut := strings.LastIndexByte(item, '=') // ids may hold one
		if cut <= 0 {
			return nil, fmt.Errorf("%q is not model=input/output", item)
		}
		id, amounts := strings.TrimSpace(item[:cut]), strings.Split(item[cut+1:], "/")
		if len(amounts) < 2 || len(amounts) > 4 {
			return nil, fmt.Errorf("%q is not model=input/output", item)
		}
		var values [4]*float64
		for i, text := range amounts {
			v, err := parsePrice(text)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", item, err)
			}
			values[i] = &v
		}
		if _, twice := out[id]; twice {
			return nil, fmt.Errorf("%q is priced twice", id)
		}
		out[id] = Price{Input: *values[0], Output: *values[1], Cached: values[2], Reasoning: values[3]}
	}
	return out, nil
}

func parsePrice(s string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(v) || v < 0 || v > maxPrice {
		return 0, fmt.Errorf("a price is a number from 0 to %d", maxPrice)
	}
	return v, nil
}

// Apply sets the prices of the models that have one and returns the ids of
// prices that belong to no model.
func (p Prices) Apply(models []Info) (unknown []string) {
	known := map[string]bool{}
	for i := range models {
		if price, ok := p[models[i].ID]; ok {
			models[i].InputPerMillion, models[i].OutputPerMillion = price.Input, price.Output
			models[i].CachedPerMillion, models[i].ReasoningPerMillion = price.Cached, price.Reasoning
		}
		known[models[i].ID] = true
	}
	for id := range p {
		if !known[id] {
			unknown = append(unknown, id)
		}
	}
	slices.Sort(unknown)
	return unknown
}
