package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"csi-proxy.example/integration/bench/peer/figures"
)

// platform runs programs for Windows.
type platform struct {
	// Returns the command that runs a program with arguments.
	command func(words ...string) *exec.Cmd
	// Returns the process of a started program that has answered.
	process func(exe string, started *exec.Cmd) figures.Process
	kill    func(process figures.Process)
}

// furtherServices returns the names and programs in CSI_PROXY_PEERS, which is NAME=PROGRAM.exe[,NAME=PROGRAM.exe]...
// Exits if a program does not exist.
func furtherServices() (services [][2]string) {
	for _, one := range strings.FieldsFunc(os.Getenv("CSI_PROXY_PEERS"), func(r rune) bool { return r == ',' }) {
		name, program, _ := strings.Cut(one, "=")
		_, err := os.Stat(program)
		figures.Must(err)
		services = append(services, [2]string{name, program})
	}
	return services
}

// pair compares our service, given with its flags, with the Go service and with further services. All use the same
// pipe names, so one runs at a time.
func pair(on platform, ours []string, theirs, load, result string, length time.Duration, turns int) {
	servers := []*figures.Server{
		figures.NewServer("csi-proxy (C++)", ours...),
		figures.NewServer("csi-proxy v1.3.0 (Go)", theirs),
	}
	for _, further := range furtherServices() {
		servers = append(servers, figures.NewServer(further[0], further[1]))
	}
	description := figures.Describe(length, turns)
	loads := []struct {
		callers int
		p50     string // the wanted ratio
	}{{1, "<= 0.7"}, {8, "<= 0.7"}, {64, "<= 0.9"}}
	label := func(callers int) string { return fmt.Sprintf("%d callers", callers) }
	for turn := 0; turn < turns; turn++ {
		for i := range servers {
			// Alternates the order.
			s := servers[(i+turn)%len(servers)]
			command := on.command(s.Command...)
			begin := time.Now()
			figures.Must(command.Start())
			figures.Must(on.command(load, "-first").Run())
			s.Add("", "start to answer, ms", float64(time.Since(begin).Milliseconds()))
			s.Process = on.process(s.Command[0], command)
			s.Add("", "RSS idle, MiB", s.Process.RSS())
			for _, l := range loads {
				s.Measure(label(l.callers), on.command(load, "-callers", strconv.Itoa(l.callers), "-length", length.String()).Args...)
			}
			s.Add("", figures.RSSAfter, s.Process.RSS())
			on.kill(s.Process)
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
