package main

import (
	"math"
	"testing"
)

func TestQuantilesAreOffByLittle(t *testing.T) {
	var h, other histogram
	if got := h.quantile(0.5); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
	for us := 1; us <= 100000; us++ {
		if us%2 == 0 {
			h.add(float64(us))
		} else {
			other.add(float64(us))
		}
	}
	h.merge(&other)
	for part, want := range map[float64]float64{0.5: 50000, 0.99: 99000, 0.001: 100} {
		if got := h.quantile(part); math.Abs(got-want) > want*(growth-1) {
			t.Errorf("quantile %v is %v, not %v", part, got, want)
		}
	}
	h = histogram{}
	h.add(0)
	h.add(1e30)
	if h.quantile(0.5) > 2 || h.quantile(1) < 1e8 {
		t.Errorf("the ends: %v, %v", h.quantile(0.5), h.quantile(1))
	}
}
