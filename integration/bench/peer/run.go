package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

func loadAverage() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	must(err)
	average, err := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	must(err)
	return average
}

// describe says when, how long and on what machine is measured.
func describe(length time.Duration, turns int) map[string]any {
	model := "unknown"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for _, line := range strings.Split(string(text), "\n") {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
			}
		}
	}
	return map[string]any{
		"date": time.Now().UTC().Format(time.RFC3339), "seconds per turn": length.Seconds(), "turns": turns,
		"processors": runtime.NumCPU(), "processor": model, "load average before": loadAverage(),
	}
}

func conclude(run map[string]any) {
	run["load average after"] = loadAverage()
	fmt.Printf("load average before %.1f, after %.1f, on %d processors\n", run["load average before"],
		run["load average after"], run["processors"])
}

// writeRun keeps every turn's figures, so that a doubtful median can be looked into.
func writeRun(run map[string]any, servers []*server, path string) {
	type figure struct {
		Median float64   `json:"median"`
		Turns  []float64 `json:"turns"`
	}
	all := map[string]map[string]map[string]figure{}
	for _, s := range servers {
		all[s.name] = map[string]map[string]figure{}
		for k, values := range s.got {
			load := k.load
			if load == "" {
				load = "start"
			}
			if all[s.name][load] == nil {
				all[s.name][load] = map[string]figure{}
			}
			all[s.name][load][k.what] = figure{median(values), values}
		}
	}
	run["servers"] = all
	text, err := json.MarshalIndent(run, "", "  ")
	must(err)
	must(os.WriteFile(path, append(text, '\n'), 0o644))
}
