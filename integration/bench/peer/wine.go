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
)

// pidOf finds the process Wine runs a program in.
func pidOf(exe string) process {
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(filepath.Base(strings.SplitN(string(text), "\x00", 2)[0]), filepath.Base(exe)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		must(err)
		return process(pid)
	}
	log.Fatalf("%s does not run", exe)
	return 0
}

// wine measures our service against the Go one; both have the same pipe names, so one runs at a time.
func wine(run, ours, theirs, load, result string, length time.Duration, turns int) {
	servers := []*server{
		newServer("csi-proxy (C++)", ours, "--host=simulated", "--pipe-sddl=D:P(A;;GA;;;WD)"),
		newServer("csi-proxy v1.3.0 (Go)", theirs),
	}
	// Making a new prefix takes seconds that are not part of a server's start.
	must(exec.Command(run, "cmd.exe", "/c", "exit").Run())
	// Something must run all the time, or Wine starts anew each time.
	keeper := exec.Command(run, "cmd.exe", "/c", "pause")
	in, err := keeper.StdinPipe()
	must(err)
	must(keeper.Start())
	defer in.Close()
	time.Sleep(3 * time.Second)
	description := describe(length, turns)
	loads := []struct {
		callers int
		p50     string // what the ratio shall be
	}{{1, "<= 0.7"}, {8, "<= 0.7"}, {64, "<= 0.9"}}
	label := func(callers int) string { return fmt.Sprintf("%d callers", callers) }
	for turn := 0; turn < turns; turn++ {
		for i := range servers {
			// Each first in turn.
			s := servers[(i+turn)%2]
			command := exec.Command(run, s.command...)
			command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			begin := time.Now()
			must(command.Start())
			must(exec.Command(run, load, "-first").Run())
			s.add("", "start to answer, ms", float64(time.Since(begin).Milliseconds()))
			s.process = pidOf(s.command[0])
			s.add("", "RSS idle, MiB", s.process.rss())
			for _, l := range loads {
				s.measure(label(l.callers), run, load, "-callers", strconv.Itoa(l.callers), "-length", length.String())
			}
			s.add("", rssAfter, s.process.rss())
			must(syscall.Kill(int(s.process), syscall.SIGKILL))
			command.Wait()
			time.Sleep(300 * time.Millisecond)
		}
	}
	for _, s := range servers {
		info, err := os.Stat(s.command[0])
		must(err)
		s.add("", "program size, MiB", float64(info.Size())/(1<<20))
	}
	t := table{servers}
	t.head()
	for _, l := range loads {
		t.row(label(l.callers), p50, l.p50)
		t.row(label(l.callers), p99, "")
		t.row(label(l.callers), rate, ">= 1.3")
		t.row(label(l.callers), cpu, "<= 0.5")
		t.row(label(l.callers), switches, "")
	}
	t.row("", "RSS idle, MiB", "")
	t.row("", rssAfter, "<= 0.5")
	t.row("", "start to answer, ms", "<= 0.5")
	t.row("", "program size, MiB", "<= 0.4")
	conclude(description)
	writeRun(description, servers, result+".json")
}
