package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sort"
	"strings"
)

// A figure of a server; load is empty when it belongs to none.
type key struct{ load, what string }

type server struct {
	name    string
	command []string
	process process
	got     map[key][]float64
}

func newServer(name string, command ...string) *server {
	return &server{name: name, command: command, got: map[key][]float64{}}
}

func (s *server) add(load, what string, value float64) {
	s.got[key{load, what}] = append(s.got[key{load, what}], value)
}

func (s *server) median(load, what string) float64 { return median(s.got[key{load, what}]) }

// The figures of every load.
const (
	p50      = "p50, us"
	p99      = "p99, us"
	rate     = "calls/s"
	cpu      = "server CPU, us/call"
	switches = "switches/call"
	rssAfter = "RSS after load, MiB"
)

// measure lets a command load the server, and keeps what the command says and what it cost.
func (s *server) measure(load string, command ...string) {
	cpuBefore, switchesBefore := s.process.cpu(), s.process.switches()
	run := exec.Command(command[0], command[1:]...)
	run.Stderr = os.Stderr
	out, err := run.Output()
	must(err)
	var f map[string]float64
	must(json.Unmarshal(out, &f))
	s.add(load, p50, f["p50_us"])
	s.add(load, p99, f["p99_us"])
	s.add(load, rate, f["calls_per_second"])
	s.add(load, cpu, (s.process.cpu()-cpuBefore)/f["calls"])
	s.add(load, switches, s.process.switchesSince(switchesBefore)/f["calls"])
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := append([]float64{}, values...)
	sort.Float64s(sorted)
	return sorted[len(sorted)/2]
}

// A table of medians: a column for each server, and the ratio of the first to the second.
type table struct{ servers []*server }

func (t table) head() {
	fmt.Printf("%-40s", "")
	for _, s := range t.servers {
		fmt.Printf(" %*s", max(len(s.name), 12), s.name)
	}
	fmt.Printf(" %8s %8s\n", "ratio", "target")
}

func (t table) row(load, what, target string) {
	name := what
	if load != "" {
		name += " (" + load + ")"
	}
	line := fmt.Sprintf("%-40s", name)
	for _, s := range t.servers {
		if len(s.got[key{load, what}]) == 0 {
			line += fmt.Sprintf(" %*s", max(len(s.name), 12), "-")
			continue
		}
		line += fmt.Sprintf(" %*.1f", max(len(s.name), 12), s.median(load, what))
	}
	ratio := "-"
	if b := t.servers[1].median(load, what); b != 0 {
		ratio = fmt.Sprintf("%.2f", t.servers[0].median(load, what)/b)
	}
	fmt.Println(strings.TrimRight(fmt.Sprintf("%s %8s %8s", line, ratio, target), " "))
}
