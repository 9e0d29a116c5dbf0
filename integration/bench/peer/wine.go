package main

import (
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

// pidOf finds the process Wine runs a program in.
func pidOf(exe string) figures.Process {
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	figures.Must(err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(filepath.Base(strings.SplitN(string(text), "\x00", 2)[0]), filepath.Base(exe)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		figures.Must(err)
		return figures.Process(pid)
	}
	log.Fatalf("%s does not run", exe)
	return 0
}

// wine measures our service against the Go one; both have the same pipe names, so one runs at a time.
func wine(run, ours, theirs, load, result string, length time.Duration, turns int) {
	servers := []*figures.Server{
		figures.NewServer("csi-proxy (C++)", ours, "--host=simulated", "--pipe-sddl=D:P(A;;GA;;;WD)"),
		figures.NewServer("csi-proxy v1.3.0 (Go)", theirs),
	}
	// Making a new prefix takes seconds that are not part of a server's start.
	figures.Must(exec.Command(run, "cmd.exe", "/c", "exit").Run())
	// Something must run all the time, or Wine starts anew each time.
	keeper := exec.Command(run, "cmd.exe", "/c", "pause")
	in, err := keeper.StdinPipe()
	figures.Must(err)
	figures.Must(keeper.Start())
	defer in.Close()
	time.Sleep(3 * time.Second)
	description := figures.Describe(length, turns)
	loads := []struct {
		callers int
		p50     string // the wanted ratio
	}{{1, "<= 0.7"}, {8, "<= 0.7"}, {64, "<= 0.9"}}
	label := func(callers int) string { return fmt.Sprintf("%d callers", callers) }
	for turn := 0; turn < turns; turn++ {
		for i := range servers {
			// Each first in turn.
			s := servers[(i+turn)%2]
			command := exec.Command(run, s.Command...)
			command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			begin := time.Now()
			figures.Must(command.Start())
			figures.Must(exec.Command(run, load, "-first").Run())
			s.Add("", "start to answer, ms", float64(time.Since(begin).Milliseconds()))
			s.Process = pidOf(s.Command[0])
			s.Add("", "RSS idle, MiB", s.Process.RSS())
			for _, l := range loads {
				s.Measure(label(l.callers), run, load, "-callers", strconv.Itoa(l.callers), "-length", length.String())
			}
			s.Add("", figures.RSSAfter, s.Process.RSS())
			figures.Must(syscall.Kill(int(s.Process), syscall.SIGKILL))
			command.Wait()
			time.Sleep(300 * time.Millisecond)
		}
	}
	for _, s := range servers {
		info, err := os.Stat(s.Command[0])
		figures.Must(err)
		s.Add("", "program size, MiB", float64(info.Size())/(1<<20))
	}
	t := figures.Table{Servers: servers}
	t.Head()
	for _, l := range loads {
		t.Row(label(l.callers), figures.P50, l.p50)
		t.Row(label(l.callers), figures.P99, "")
		t.Row(label(l.callers), figures.Rate, ">= 1.3")
		t.Row(label(l.callers), figures.CPU, "<= 0.5")
		t.Row(label(l.callers), figures.Switches, "")
	}
	t.Row("", "RSS idle, MiB", "")
	t.Row("", figures.RSSAfter, "<= 0.5")
	t.Row("", "start to answer, ms", "<= 0.5")
	t.Row("", "program size, MiB", "<= 0.4")
	figures.Conclude(description)
	figures.WriteRun(description, servers, result+".json")
}
