//go:build !windows

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"csi-proxy.example/integration/bench/peer/figures"
)

const stormUsage = "peer storm linux OURS CLIENT SCENARIO RESULT [TURNS]\n" +
	"       peer storm wine NODE_RUN OURS.exe THEIRS.exe CLIENT.exe SCENARIO RESULT [TURNS]"

// stormService is a service that stages volumes of its own node.
type stormService struct {
	name string
	// Returns the command that starts the service on a scenario's node.
	start func(scenario string) *exec.Cmd
	// Returns the process of the service, once it has answered.
	process func(started *exec.Cmd) figures.Process
	client  func(arguments ...string) *exec.Cmd
	// Returns the number of requests to WMI so far.
	requests func() float64
	released bool            // serves only the Go release's calls
	lacks    map[string]bool // for a further service: the ways for which it has no pipe
}

// stormWay is a way to stage volumes. It is compared with theirs, a way of the Go release, unless theirs is empty.
type stormWay struct {
	by       string
	released bool // also possible with the Go release
	theirs   string
	target   string // the wanted ratio
	counts   []int
}

var (
	stormVolumes = []int{1, 10, 20, 50, 100}
	stormShares  = []int{1, 5, 10, 25, 50}
	stormWays    = []stormWay{
		{"released", true, "released", "<= 0.9", stormVolumes},
		{"StageVolume", false, "released", "<= 0.75", stormVolumes},
		{"StageTarget", false, "", "", stormVolumes},
		{"NewSmbGlobalMapping", true, "NewSmbGlobalMapping", "<= 0.9", stormShares},
		{"StageShare", false, "NewSmbGlobalMapping", "<= 0.75", stormShares},
	}
)

// stages reports whether the service serves the calls of a way.
func (s *stormService) stages(way stormWay) bool {
	return (way.released || !s.released) && !s.lacks[way.by]
}

// ofOne is the wanted ratio of a storm to one staging.
func (w stormWay) ofOne(count int) string {
	switch {
	case count == 1:
		return ""
	case count == w.counts[len(w.counts)-1]:
		return "<= 1.6"
	default:
		return "<= 1.3"
	}
}

// writeStorm writes the scenario with the disks, shares and targets for count stagings.
func writeStorm(base, path string, count int) {
	text, err := os.ReadFile(base)
	figures.Must(err)
	out := bytes.NewBuffer(text)
	portal := "iscsi_portal {\n  address: \"10.0.0.5\"\n"
	for i := 1; i <= count; i++ {
		fmt.Fprintf(out, "disk { number: %d size_bytes: 1073741824 page83: \"storm-%d\" serial_number: \"storm-%d\" "+
			"location: \"Integrated : Adapter 3 : Port 0 : Target 0 : LUN %d\" offline: true }\n", i, i, i, i)
		fmt.Fprintf(out, "smb_server { name: \"storm-%d\" user { name: \"storm\" password: \"storm-password\" } "+
			"share { name: \"data\" } }\n", i)
		portal += fmt.Sprintf("  target { iqn: \"iqn.2026-01.example:storm-%d\" disk { number: %d size_bytes: 1073741824 "+
			"location: \"iSCSI : Adapter 5 : Port 0 : Target %d : LUN 0\" page83: \"storm-lun-%d\" } }\n", i, 1000+i, i, i)
	}
	out.WriteString(portal + "}\n")
	figures.Must(os.WriteFile(path, out.Bytes(), 0o644))
}

// The figures of a storm.
const (
	stormAll      = "all after, ms"
	stormOfOne    = "all after, % of one"
	stormP50      = "p50, ms"
	stormP99      = "p99, ms"
	stormFailed   = "failed"
	stormRequests = "WMI requests"
	stormThreads  = "threads, most"
	stormLeft     = "threads, 5 s later"
	stormPeak     = "peak RSS, MiB"
	stormCPU      = "CPU, s"
)

var stormFigures = []string{stormAll, stormP50, stormP99, stormFailed, stormRequests, stormThreads, stormLeft, stormPeak, stormCPU}

// blow measures one storm with a new service. If the client fails with a further service, blow records no figures and
// adds the way to lacks, because that service does not have the way's pipe.
func (s *stormService) blow(server *figures.Server, way stormWay, count int, base, directory string) {
	scenario := filepath.Join(directory, "node.textproto")
	writeStorm(base, scenario, count)
	started := s.start(scenario)
	figures.Must(started.Start())
	figures.Must(s.client().Run())
	process := s.process(started)
	cpu, requests := process.CPU(), s.requests()
	stop, most := make(chan bool), make(chan float64)
	go func() {
		threads := process.Threads()
		for {
			select {
			case <-stop:
				most <- threads
				return
			case <-time.After(20 * time.Millisecond):
				threads = max(threads, process.Threads())
			}
		}
	}()
	command := s.client("-by", way.by, "-count", strconv.Itoa(count))
	command.Stderr = os.Stderr
	out, err := command.Output()
	stop <- true
	threads := <-most
	defer func() {
		figures.Must(syscall.Kill(int(process), syscall.SIGKILL))
		started.Wait()
		time.Sleep(300 * time.Millisecond)
	}()
	if err != nil && s.lacks != nil {
		s.lacks[way.by] = true
		return
	}
	figures.Must(err)
	var f struct {
		Seconds  float64            `json:"seconds"`
		P50      float64            `json:"p50_ms"`
		P99      float64            `json:"p99_ms"`
		Failed   float64            `json:"failed"`
		Stations map[string]float64 `json:"stations_ms"`
	}
	figures.Must(json.Unmarshal(out, &f))
	this := label(way.by, count)
	server.Add(this, stormAll, f.Seconds*1e3)
	server.Add(this, stormP50, f.P50)
	server.Add(this, stormP99, f.P99)
	server.Add(this, stormFailed, f.Failed)
	server.Add(this, stormRequests, s.requests()-requests)
	server.Add(this, stormThreads, threads)
	server.Add(this, stormPeak, process.PeakRSS())
	server.Add(this, stormCPU, (process.CPU()-cpu)/1e6)
	for station, spent := range f.Stations {
		server.Add(this, station+", p50, ms", spent)
	}
	if count == way.counts[len(way.counts)-1] {
		time.Sleep(5 * time.Second)
		server.Add(this, stormLeft, process.Threads())
	}
}

func label(way string, count int) string { return fmt.Sprintf("%s x %d", way, count) }

func storm(services []*stormService, base, directory, result string, turns int) {
	var servers []*figures.Server
	for _, s := range services {
		servers = append(servers, figures.NewServer(s.name))
	}
	run := figures.Describe(0, turns)
	for turn := 0; turn < turns; turn++ {
		for _, way := range stormWays {
			for _, count := range way.counts {
				for i := range services {
					// Alternates the order.
					at := (i + turn) % len(services)
					if services[at].stages(way) {
						services[at].blow(servers[at], way, count, base, directory)
					}
				}
			}
		}
	}
	// Without the Go release, each storm is compared with one staging.
	compared := len(servers) > 1
	if !compared {
		servers = append(servers, figures.NewServer("one alone"))
	}
	table := figures.Table{Servers: servers}
	table.Head()
	for _, way := range stormWays {
		for _, count := range way.counts {
			this, theirs := label(way.by, count), label(way.theirs, count)
			// Compares one call of ours with the calls by which the Go release stages the same.
			for _, s := range servers[1:] {
				for _, what := range stormFigures {
					if value := s.Median(theirs, what); value != 0 && way.by != way.theirs {
						s.Add(this, what, value)
					}
				}
			}
			for _, s := range servers {
				if one := s.Median(label(way.by, 1), stormAll); one != 0 && count > 1 {
					s.Add(this, stormOfOne, 100*s.Median(this, stormAll)/one)
				}
			}
			target, peak := way.target, "<= 1.3"
			if !compared {
				servers[1].Add(this, stormAll, servers[0].Median(label(way.by, 1), stormAll))
				target, peak = way.ofOne(count), ""
			}
			table.Row(this, stormAll, target)
			if compared && count > 1 {
				table.Row(this, stormOfOne, "")
			}
			if count == way.counts[len(way.counts)-1] {
				for _, what := range stormFigures[1:] {
					table.Row(this, what, map[string]string{stormPeak: peak}[what])
				}
			}
		}
	}
	figures.Conclude(run)
	figures.WriteRun(run, servers, result+".json")
}

// countRecord counts the requests to WMI in the double's record.
func countRecord(path string) float64 {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return 0
	}
	figures.Must(err)
	count := 0.0
	for _, line := range strings.Split(string(text), "\n") {
		switch kind, _, _ := strings.Cut(line, "\t"); kind {
		case "query", "object", "method":
			count++
		}
	}
	return count
}

func measureStorm(arguments []string) bool {
	if len(arguments) < 2 || arguments[0] != "storm" {
		return false
	}
	directory, err := os.MkdirTemp("", "csi-proxy-storm-")
	figures.Must(err)
	defer os.RemoveAll(directory)
	turnsIn := func(rest []string) int {
		if len(rest) == 0 {
			return 1
		}
		turns, err := strconv.Atoi(rest[0])
		figures.Must(err)
		return turns
	}
	switch a := arguments[2:]; {
	case arguments[1] == "linux" && len(a) >= 4:
		pipes := filepath.Join(directory, "pipes")
		figures.Must(os.Mkdir(pipes, 0o700))
		client := func(more ...string) *exec.Cmd { return exec.Command(a[1], append(more, "-directory", pipes)...) }
		storm([]*stormService{{
			name: "csi-proxy",
			start: func(scenario string) *exec.Cmd {
				return exec.Command(a[0], "--host=simulated", "--socket-dir="+pipes, "--scenario="+scenario)
			},
			process: func(started *exec.Cmd) figures.Process { return figures.Process(started.Process.Pid) },
			client:  client,
			requests: func() float64 {
				out, err := client("-count-wmi").Output()
				figures.Must(err)
				count, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
				figures.Must(err)
				return count
			},
		}}, a[2], directory, a[3], turnsIn(a[4:]))
	case arguments[1] == "wine" && len(a) >= 6:
		figures.Must(exec.Command(a[0], "--session-start").Run())
		defer exec.Command(a[0], "--session-stop").Run()
		record := filepath.Join(directory, "record")
		on := func(name string, released bool, program ...string) *stormService {
			return &stormService{
				name: name,
				start: func(scenario string) *exec.Cmd {
					os.Remove(record)
					command := exec.Command(a[0], program...)
					command.Env = append(os.Environ(), "CSI_PROXY_DOUBLE_SCENARIO=Z:"+scenario, "CSI_PROXY_DOUBLE_RECORD=Z:"+record)
					command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
					return command
				},
				process:  func(*exec.Cmd) figures.Process { return pidOf(program[0]) },
				client:   func(more ...string) *exec.Cmd { return exec.Command(a[0], append([]string{a[3]}, more...)...) },
				requests: func() float64 { return countRecord(record) },
				released: released,
			}
		}
		services := []*stormService{
			on("csi-proxy (C++)", false, a[1], "--pipe-sddl=D:P(A;;GA;;;WD)"),
			on("csi-proxy v1.3.0 (Go)", true, a[2]),
		}
		for _, further := range furtherServices() {
			service := on(further[0], true, further[1])
			service.lacks = map[string]bool{}
			services = append(services, service)
		}
		storm(services, a[4], directory, a[5], turnsIn(a[6:]))
	default:
		log.Fatal("usage: " + stormUsage)
	}
	return true
}
