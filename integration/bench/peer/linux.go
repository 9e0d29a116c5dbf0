package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"csi-proxy.example/integration/bench/peer/figures"
)

// linuxLoad is a number of callers and connections. With 0 connections, one caller calls each pipe.
type linuxLoad struct {
	callers, connections int
	p50, rate, cpu       string // the ratios wanted
}

func (l linuxLoad) label() string {
	if l.connections == 0 {
		return "every pipe"
	}
	return fmt.Sprintf("%d on %d", l.callers, l.connections)
}

// The name of the figure for the threads that a service keeps for a while after a load.
const threadsAfter = "threads after load"

var linuxLoads = []linuxLoad{
	{1, 1, "<= 1.0", ">= 1.0", "<= 0.8"},
	{8, 1, "<= 0.8", ">= 1.25", "<= 0.8"},
	{8, 8, "<= 0.8", ">= 1.25", "<= 0.8"},
	{64, 1, "<= 0.8", ">= 1.25", "<= 0.8"},
	{64, 8, "<= 0.8", ">= 1.25", "<= 0.8"},
	{0, 0, "", "", ""},
}

// linux compares our service with a typical Go server and with the smallest possible C++ gRPC server. All run
// all the time, because a server without calls costs nothing.
func linux(ours, grpcGo, echo, load, result string, length time.Duration, turns int) {
	directory, err := os.MkdirTemp("", "csi-proxy-peer-")
	figures.Must(err)
	defer os.RemoveAll(directory)
	pipes := filepath.Join(directory, "pipes")
	figures.Must(os.Mkdir(pipes, 0o700))
	socket := func(name string) string { return filepath.Join(directory, name+".sock") }
	servers := []*figures.Server{
		figures.NewServer("csi-proxy", ours, "--host=simulated", "--socket-dir="+pipes),
		figures.NewServer("grpc-go "+figures.GRPCVersion(grpcGo), grpcGo, socket("go")),
		figures.NewServer("bare gRPC C++", echo, socket("echo")),
	}
	sockets := []string{filepath.Join(pipes, "csi-proxy-filesystem-v1.sock"), socket("go"), socket("echo")}
	run := figures.Describe(length, turns)
	run["client"] = "grpc-go " + figures.GRPCVersion(load)
	for turn := 0; turn < turns; turn++ {
		var running []*exec.Cmd
		for i, s := range servers {
			command := exec.Command(s.Command[0], s.Command[1:]...)
			figures.Must(command.Start())
			running = append(running, command)
			s.Process = figures.Process(command.Process.Pid)
			first := exec.Command(load, "-first", "-socket", sockets[i])
			first.Stderr = os.Stderr
			figures.Must(first.Run())
			s.Add("", "RSS idle, MiB", s.Process.RSS())
		}
		for n, l := range linuxLoads {
			for i := range servers {
				// Alternates the order, so that no server always follows the same one.
				who := (i + n + turn) % len(servers)
				arguments := []string{load, "-length", length.String()}
				if l.connections > 0 {
					arguments = append(arguments, "-callers", strconv.Itoa(l.callers),
						"-connections", strconv.Itoa(l.connections), "-socket", sockets[who])
				} else if who == 0 {
					arguments = append(arguments, "-pipes", pipes)
				} else {
					continue // Only ours has a pipe for each version.
				}
				s := servers[who]
				s.Measure(l.label(), arguments...)
				s.Add(l.label(), figures.RSSAfter, s.Process.RSS())
				s.Add(l.label(), threadsAfter, s.Process.Threads())
			}
		}
		for _, command := range running {
			figures.Must(command.Process.Kill())
			command.Wait()
		}
		for _, path := range sockets[1:] {
			os.Remove(path)
		}
	}
	t := figures.Table{Servers: servers}
	t.Head()
	t.Row("", "RSS idle, MiB", "")
	for _, l := range linuxLoads {
		t.Row(l.label(), figures.P50, l.p50)
		t.Row(l.label(), figures.P99, "")
		t.Row(l.label(), figures.Rate, l.rate)
		t.Row(l.label(), figures.CPU, l.cpu)
		t.Row(l.label(), figures.Switches, "")
		t.Row(l.label(), figures.RSSAfter, "")
		t.Row(l.label(), threadsAfter, "")
	}
	figures.Conclude(run)
	figures.WriteRun(run, servers, result+".json")
}
