package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// How many call at once, over how many connections; at 0 connections one calls on each pipe.
type linuxLoad struct {
	callers, connections int
	p50, rate, cpu       string // what the ratio shall be
}

func (l linuxLoad) label() string {
	if l.connections == 0 {
		return "every pipe"
	}
	return fmt.Sprintf("%d on %d", l.callers, l.connections)
}

var linuxLoads = []linuxLoad{
	{1, 1, "<= 1.0", ">= 1.0", "<= 0.8"},
	{8, 1, "<= 0.8", ">= 1.25", "<= 0.8"},
	{8, 8, "<= 0.8", ">= 1.25", "<= 0.8"},
	{64, 1, "<= 0.8", ">= 1.25", "<= 0.8"},
	{64, 8, "<= 0.8", ">= 1.25", "<= 0.8"},
	{0, 0, "", "", ""},
}

// linux measures our service against what a Go programmer would write and against the least a gRPC
// server in C++ can be. All run all the time: who is not called costs nothing.
func linux(ours, grpcGo, echo, load, result string, length time.Duration, turns int) {
	directory, err := os.MkdirTemp("", "csi-proxy-peer-")
	must(err)
	defer os.RemoveAll(directory)
	pipes := filepath.Join(directory, "pipes")
	must(os.Mkdir(pipes, 0o700))
	socket := func(name string) string { return filepath.Join(directory, name+".sock") }
	servers := []*server{
		newServer("csi-proxy", ours, "--host=simulated", "--socket-dir="+pipes),
		newServer("grpc-go "+grpcVersion(grpcGo), grpcGo, socket("go")),
		newServer("bare gRPC C++", echo, socket("echo")),
	}
	sockets := []string{filepath.Join(pipes, "csi-proxy-filesystem-v1.sock"), socket("go"), socket("echo")}
	run := describe(length, turns)
	run["client"] = "grpc-go " + grpcVersion(load)
	for turn := 0; turn < turns; turn++ {
		var running []*exec.Cmd
		for i, s := range servers {
			command := exec.Command(s.command[0], s.command[1:]...)
			must(command.Start())
			running = append(running, command)
			s.process = process(command.Process.Pid)
			first := exec.Command(load, "-first", "-socket", sockets[i])
			first.Stderr = os.Stderr
			must(first.Run())
			s.add("", "RSS idle, MiB", s.process.rss())
		}
		for n, l := range linuxLoads {
			for i := range servers {
				// Each first in turn, so that none always follows the same one.
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
				s.measure(l.label(), arguments...)
				s.add(l.label(), rssAfter, s.process.rss())
			}
		}
		for _, command := range running {
			must(command.Process.Kill())
			command.Wait()
		}
		for _, path := range sockets[1:] {
			os.Remove(path)
		}
	}
	t := table{servers}
	t.head()
	t.row("", "RSS idle, MiB", "")
	for _, l := range linuxLoads {
		t.row(l.label(), p50, l.p50)
		t.row(l.label(), p99, "")
		t.row(l.label(), rate, l.rate)
		t.row(l.label(), cpu, l.cpu)
		t.row(l.label(), switches, "")
		t.row(l.label(), rssAfter, "")
	}
	conclude(run)
	writeRun(run, servers, result+".json")
	writeData(servers, result+".dat")
}

// grpcVersion is that of the grpc-go a program was built with.
func grpcVersion(program string) string {
	info, err := buildinfo.ReadFile(program)
	must(err)
	for _, module := range info.Deps {
		if module.Path == "google.golang.org/grpc" {
			return module.Version
		}
	}
	return ""
}

// writeData makes a line of each load that all servers took: its name, then each figure of each server.
// A first line names the servers.
func writeData(servers []*server, path string) {
	var out bytes.Buffer
	fmt.Fprint(&out, "load")
	for range 6 {
		for _, s := range servers {
			fmt.Fprintf(&out, " %q", s.name)
		}
	}
	fmt.Fprintln(&out)
	for _, l := range linuxLoads {
		if l.connections == 0 {
			continue
		}
		fmt.Fprintf(&out, "%q", l.label())
		for _, what := range []string{p50, p99, rate, cpu, switches, rssAfter} {
			for _, s := range servers {
				fmt.Fprintf(&out, " %.3f", s.median(l.label(), what))
			}
		}
		fmt.Fprintln(&out)
	}
	must(os.WriteFile(path, out.Bytes(), 0o644))
}
