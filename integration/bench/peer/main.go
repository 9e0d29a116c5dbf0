// Measures two servers against each other under Wine, in turns, and prints their ratios.
//
//	peer RUN OURS.exe THEIRS.exe LOAD.exe [SECONDS [TURNS]]
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type figures map[string]float64

type server struct {
	name    string
	command []string
	process *exec.Cmd
	pid     int
	got     map[string][]float64
}

var wine, load string

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// pidOf finds the process Wine runs a program in.
func pidOf(exe string) int {
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(filepath.Base(strings.SplitN(string(text), "\x00", 2)[0]), filepath.Base(exe)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		must(err)
		return pid
	}
	log.Fatalf("%s does not run", exe)
	return 0
}

func (s *server) start() {
	s.process = exec.Command(wine, s.command...)
	s.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	begin := time.Now()
	must(s.process.Start())
	must(exec.Command(wine, load, "-first").Run())
	s.got["start to answer, ms"] = append(s.got["start to answer, ms"], float64(time.Since(begin).Milliseconds()))
	s.pid = pidOf(s.command[0])
}

func (s *server) stop() {
	must(syscall.Kill(s.pid, syscall.SIGKILL))
	s.process.Wait()
	time.Sleep(300 * time.Millisecond)
}

// rss in MiB.
func (s *server) rss() float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	must(err)
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "VmRSS:") {
			kib, err := strconv.ParseFloat(strings.Fields(line)[1], 64)
			must(err)
			return kib / 1024
		}
	}
	return 0
}

// cpu in microseconds; the wineserver's work for the process is not in it.
func (s *server) cpu() float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.pid))
	must(err)
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, err := strconv.ParseFloat(fields[11], 64)
	must(err)
	system, err := strconv.ParseFloat(fields[12], 64)
	must(err)
	return (user + system) * 1e6 / 100
}

func (s *server) add(what string, value float64) { s.got[what] = append(s.got[what], value) }

func (s *server) measure(callers int, length string) {
	before := s.cpu()
	out, err := exec.Command(wine, load, "-callers", strconv.Itoa(callers), "-length", length).Output()
	must(err)
	var f figures
	must(json.Unmarshal(out, &f))
	suffix := fmt.Sprintf(" (%d callers)", callers)
	s.add("p50, us"+suffix, f["p50_us"])
	s.add("p99, us"+suffix, f["p99_us"])
	s.add("calls/s"+suffix, f["calls_per_second"])
	s.add("server CPU, us/call"+suffix, (s.cpu()-before)/f["calls"])
}

func median(values []float64) float64 {
	sorted := append([]float64{}, values...)
	sort.Float64s(sorted)
	return sorted[len(sorted)/2]
}

func main() {
	if len(os.Args) < 5 {
		log.Fatal("usage: peer RUN OURS.exe THEIRS.exe LOAD.exe [SECONDS [TURNS]]")
	}
	wine, load = os.Args[1], os.Args[4]
	length, turns := "3s", 3
	if len(os.Args) > 5 {
		length = os.Args[5] + "s"
	}
	if len(os.Args) > 6 {
		var err error
		turns, err = strconv.Atoi(os.Args[6])
		must(err)
	}
	ours := &server{name: "csi-proxy (C++)", command: []string{os.Args[2], "--host=simulated", "--pipe-sddl=D:P(A;;GA;;;WD)"}, got: map[string][]float64{}}
	theirs := &server{name: "csi-proxy v1.3.0 (Go)", command: []string{os.Args[3]}, got: map[string][]float64{}}
	// Something must run all the time, or Wine starts anew each time.
	keeper := exec.Command(wine, "cmd.exe", "/c", "pause")
	in, err := keeper.StdinPipe()
	must(err)
	must(keeper.Start())
	defer in.Close()
	time.Sleep(3 * time.Second)
	servers := []*server{ours, theirs}
	for turn := 0; turn < turns; turn++ {
		// Each first in turn: both have the same pipe names, so only one runs at a time.
		for i := range servers {
			s := servers[(i+turn)%2]
			s.start()
			s.add("RSS idle, MiB", s.rss())
			for _, callers := range []int{1, 8, 64} {
				s.measure(callers, length)
			}
			s.add("RSS after load, MiB", s.rss())
			s.stop()
		}
	}
	for i, s := range servers {
		info, err := os.Stat(os.Args[2+i])
		must(err)
		s.add("program size, MiB", float64(info.Size())/(1<<20))
	}
	fmt.Printf("%-36s %16s %22s %8s %8s\n", "", ours.name, theirs.name, "ratio", "target")
	row := func(what, target string) {
		a, b := median(ours.got[what]), median(theirs.got[what])
		fmt.Printf("%-36s %16.1f %22.1f %8.2f %8s\n", what, a, b, a/b, target)
	}
	for _, callers := range []int{1, 8, 64} {
		suffix := fmt.Sprintf(" (%d callers)", callers)
		row("p50, us"+suffix, "<= 0.5")
		row("p99, us"+suffix, "")
		row("calls/s"+suffix, ">= 1.5")
		row("server CPU, us/call"+suffix, "<= 0.5")
	}
	row("RSS idle, MiB", "<= 0.4")
	row("RSS after load, MiB", "<= 0.4")
	row("start to answer, ms", "<= 0.5")
	row("program size, MiB", "<= 0.4")
}
