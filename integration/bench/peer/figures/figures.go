// Package figures collects the results of benchmarks and measures processes.
package figures

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sort"
	"strings"
	"time"
)

// key names a figure of a server; load is empty if the figure belongs to no load.
type key struct{ load, what string }

type Server struct {
	Name    string
	Command []string
	Process Process
	got     map[key][]float64
	// The rows of the table in which this server is the first.
	rows []row
}

// row is a row of a table. Target is the wanted ratio of the first server to the second; it may be empty.
type row struct {
	Load   string `json:"load"`
	Figure string `json:"figure"`
	Target string `json:"target"`
}

func NewServer(name string, command ...string) *Server {
	return &Server{Name: name, Command: command, got: map[key][]float64{}}
}

func (s *Server) Add(load, what string, value float64) {
	s.got[key{load, what}] = append(s.got[key{load, what}], value)
}

func (s *Server) Median(load, what string) float64 { return median(s.got[key{load, what}]) }

// Names of the figures of every load.
const (
	P50      = "p50, us"
	P99      = "p99, us"
	Rate     = "calls/s"
	CPU      = "server CPU, us/call"
	Switches = "switches/call"
	RSSAfter = "RSS after load, MiB"
)

// Measure runs a command that loads the server, and adds the command's output and the cost to the server.
func (s *Server) Measure(load string, command ...string) {
	cpuBefore, switchesBefore := s.Process.CPU(), s.Process.Switches()
	run := exec.Command(command[0], command[1:]...)
	run.Stderr = os.Stderr
	out, err := run.StdoutPipe()
	Must(err)
	Must(run.Start())
	var f map[string]float64
	Must(json.NewDecoder(out).Decode(&f))
	s.Add(load, P50, f["p50_us"])
	s.Add(load, P99, f["p99_us"])
	s.Add(load, Rate, f["calls_per_second"])
	s.Add(load, CPU, (s.Process.CPU()-cpuBefore)/f["calls"])
	if countsSwitches {
		s.Add(load, Switches, s.Process.SwitchesSince(switchesBefore)/f["calls"])
	}
	// Under Wine a Go program sometimes hangs in its exit, after all its output.
	late := time.AfterFunc(10*time.Second, func() { run.Process.Kill() })
	if err := run.Wait(); late.Stop() {
		Must(err)
	}
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := append([]float64{}, values...)
	sort.Float64s(sorted)
	return sorted[len(sorted)/2]
}

// Table prints medians: a column for each server, and the ratio of the first to the second.
type Table struct{ Servers []*Server }

func (t Table) Head() {
	fmt.Printf("%-40s", "")
	for _, s := range t.Servers {
		fmt.Printf(" %*s", max(len(s.Name), 12), s.Name)
	}
	fmt.Printf(" %8s %8s\n", "ratio", "target")
}

func (t Table) Row(load, what, target string) {
	t.Servers[0].rows = append(t.Servers[0].rows, row{load, what, target})
	name := what
	if load != "" {
		name += " (" + load + ")"
	}
	line := fmt.Sprintf("%-40s", name)
	for _, s := range t.Servers {
		if len(s.got[key{load, what}]) == 0 {
			line += fmt.Sprintf(" %*s", max(len(s.Name), 12), "-")
			continue
		}
		line += fmt.Sprintf(" %*.1f", max(len(s.Name), 12), s.Median(load, what))
	}
	ratio := "-"
	if b := t.Servers[1].Median(load, what); b != 0 {
		ratio = fmt.Sprintf("%.2f", t.Servers[0].Median(load, what)/b)
	}
	fmt.Println(strings.TrimRight(fmt.Sprintf("%s %8s %8s", line, ratio, target), " "))
}
