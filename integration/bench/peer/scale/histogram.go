package main

import "math"

// Each bucket is so much wider than the one before; a figure is off by half of that at most.
const growth = 1.05

// A histogram of times in microseconds.
type histogram struct {
	buckets [400]int
	count   int
}

func (h *histogram) add(us float64) {
	bucket := 0
	if us > 1 {
		bucket = min(int(math.Log(us)/math.Log(growth)), len(h.buckets)-1)
	}
	h.buckets[bucket]++
	h.count++
}

func (h *histogram) merge(other *histogram) {
	for i, n := range other.buckets {
		h.buckets[i] += n
	}
	h.count += other.count
}

// quantile is the time that so great a part of all stayed below; 0 of none.
func (h *histogram) quantile(part float64) float64 {
	left := int(math.Ceil(part * float64(h.count)))
	for i, n := range h.buckets {
		if left -= n; left <= 0 && h.count > 0 {
			return math.Pow(growth, float64(i)+0.5)
		}
	}
	return 0
}
