package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// What /proc says about a process.
type process int

// field is a number of a status file, 0 when the process or thread is gone.
func field(path, name string) float64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, name+":") {
			value, err := strconv.ParseFloat(strings.Fields(line)[1], 64)
			must(err)
			return value
		}
	}
	return 0
}

// rss in MiB.
func (p process) rss() float64 { return field(fmt.Sprintf("/proc/%d/status", p), "VmRSS") / 1024 }

// cpu in microseconds; under Wine the wineserver's work for the process is not in it.
func (p process) cpu() float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p))
	must(err)
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, err := strconv.ParseFloat(fields[11], 64)
	must(err)
	system, err := strconv.ParseFloat(fields[12], 64)
	must(err)
	return (user + system) * 1e6 / 100
}

// switches by thread, so that one that has ended meanwhile takes nothing away from the others.
func (p process) switches() map[string]float64 {
	paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", p))
	must(err)
	all := map[string]float64{}
	for _, path := range paths {
		all[path] = field(path, "voluntary_ctxt_switches") + field(path, "nonvoluntary_ctxt_switches")
	}
	return all
}

func (p process) switchesSince(before map[string]float64) float64 {
	sum := 0.0
	for path, now := range p.switches() {
		sum += now - before[path]
	}
	return sum
}
