//go:build !windows

package figures

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Process reads a process's figures from /proc.
type Process int

// field returns a number from a status file; 0 if the process or thread has ended.
func field(path, name string) float64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, name+":") {
			value, err := strconv.ParseFloat(strings.Fields(line)[1], 64)
			Must(err)
			return value
		}
	}
	return 0
}

// RSS returns the resident memory in MiB.
func (p Process) RSS() float64 { return field(fmt.Sprintf("/proc/%d/status", p), "VmRSS") / 1024 }

// PeakRSS returns the largest resident memory so far, in MiB.
func (p Process) PeakRSS() float64 { return field(fmt.Sprintf("/proc/%d/status", p), "VmHWM") / 1024 }

func (p Process) Threads() float64 { return field(fmt.Sprintf("/proc/%d/status", p), "Threads") }

// CPU returns the CPU time in microseconds, under Wine without the wineserver's work for the process.
func (p Process) CPU() float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p))
	Must(err)
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, err := strconv.ParseFloat(fields[11], 64)
	Must(err)
	system, err := strconv.ParseFloat(fields[12], 64)
	Must(err)
	return (user + system) * 1e6 / 100
}

const countsSwitches = true

// Switches returns the switches of each thread. The caller compares threads, so that the end of one does not
// reduce the sum.
func (p Process) Switches() map[string]float64 {
	paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", p))
	Must(err)
	all := map[string]float64{}
	for _, path := range paths {
		all[path] = field(path, "voluntary_ctxt_switches") + field(path, "nonvoluntary_ctxt_switches")
	}
	return all
}

func (p Process) SwitchesSince(before map[string]float64) float64 {
	sum := 0.0
	for path, now := range p.Switches() {
		sum += now - before[path]
	}
	return sum
}

func loadAverage() (average float64, known bool) {
	text, err := os.ReadFile("/proc/loadavg")
	Must(err)
	average, err = strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	Must(err)
	return average, true
}

func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for _, line := range strings.Split(string(text), "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}
