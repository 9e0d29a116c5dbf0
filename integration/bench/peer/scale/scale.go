// Every call here is measured alone, on nodes of several sizes, so that no driver's order (drivers/orders) matters.

package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"sort"
	"sync"
	"time"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	smb "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"

	"csi-proxy.example/integration/bench/peer/figures"
)

var (
	background = context.Background()
	sizes      = []int{1, 10, 100, 1000}
	callers    = []int{1, 8, 64, 512}
)

// The size of the node that the callers share.
const callersNode = 100

// These are measured for a call, besides the figures of every load.
const (
	machineTime = "of it in the simulated machine, us/call"
	win32Calls  = "Win32 calls/call"
	wmiCalls    = "WMI calls/call"
	wmiObjects  = "WMI objects/call"
	rssIdle     = "RSS idle, MiB"
)

// A call about the n-th of `size` disks, which looks at its answer.
type scaled struct {
	name string
	// The highest power of the node's size with which the cost may grow.
	power float64
	call  func(c *clients, n, size int) error
}

func (s scaled) kind() string {
	if s.power == 0 {
		return "look-up"
	}
	return "listing"
}

// told is whether an answer is the one that the scenario has.
func told[T comparable](got, want T, err error) error {
	if err == nil && got != want {
		return fmt.Errorf("the answer is %v, not %v", got, want)
	}
	return err
}

var scaledCalls = []scaled{
	{"ListDiskLocations", 1, func(c *clients, n, size int) error {
		got, err := c.disk.ListDiskLocations(background, &disk.ListDiskLocationsRequest{})
		return told(len(got.GetDiskLocations()), size, err)
	}},
	{"ListDiskIDs", 1, func(c *clients, n, size int) error {
		got, err := c.disk.ListDiskIDs(background, &disk.ListDiskIDsRequest{})
		return told(len(got.GetDiskIDs()), size+1, err)
	}},
	{"ListVolumesOnDisk", 1, func(c *clients, n, size int) error {
		got, err := c.volume.ListVolumesOnDisk(background, &volume.ListVolumesOnDiskRequest{DiskNumber: uint32(n)})
		if err != nil || len(got.VolumeIds) != 1 {
			return fmt.Errorf("%v: %v", got, err)
		}
		return told(got.VolumeIds[0], volumeID(n), err)
	}},
	{"PathExists", 0, func(c *clients, n, size int) error {
		got, err := c.filesystem.PathExists(background, &filesystem.PathExistsRequest{Path: targetPath(podOf(n))})
		return told(got.GetExists(), true, err)
	}},
	{"IsSymlink", 0, func(c *clients, n, size int) error {
		got, err := c.filesystem.IsSymlink(background, &filesystem.IsSymlinkRequest{Path: targetPath(podOf(n))})
		return told(got.GetIsSymlink(), true, err)
	}},
	{"GetDiskStats", 0, func(c *clients, n, size int) error {
		got, err := c.disk.GetDiskStats(background, &disk.GetDiskStatsRequest{DiskNumber: uint32(n)})
		return told(got.GetTotalBytes(), diskBytes, err)
	}},
	{"GetDiskState", 0, func(c *clients, n, size int) error {
		got, err := c.disk.GetDiskState(background, &disk.GetDiskStateRequest{DiskNumber: uint32(n)})
		return told(got.GetIsOnline(), true, err)
	}},
	{"GetVolumeStats", 0, func(c *clients, n, size int) error {
		got, err := c.volume.GetVolumeStats(background, &volume.GetVolumeStatsRequest{VolumeId: volumeID(n)})
		return told(got.GetTotalBytes(), diskBytes-64*mib, err)
	}},
	{"GetVolumeIDFromTargetPath", 0, func(c *clients, n, size int) error {
		got, err := c.volume.GetVolumeIDFromTargetPath(background,
			&volume.GetVolumeIDFromTargetPathRequest{TargetPath: targetPath(podOf(n))})
		return told(got.GetVolumeId(), volumeID(n), err)
	}},
	{"GetDiskNumberFromVolumeID", 0, func(c *clients, n, size int) error {
		got, err := c.volume.GetDiskNumberFromVolumeID(background,
			&volume.GetDiskNumberFromVolumeIDRequest{VolumeId: volumeID(n)})
		return told(got.GetDiskNumber(), uint32(n), err)
	}},
	{"IsVolumeFormatted", 0, func(c *clients, n, size int) error {
		got, err := c.volume.IsVolumeFormatted(background, &volume.IsVolumeFormattedRequest{VolumeId: volumeID(n)})
		return told(got.GetFormatted(), true, err)
	}},
	{"NewSmbGlobalMapping", 0, func(c *clients, n, size int) error {
		_, err := c.smb.NewSmbGlobalMapping(background,
			&smb.NewSmbGlobalMappingRequest{RemotePath: share(n), Username: smbUser, Password: password})
		return err
	}},
}

// scale measures calls on nodes of all sizes, and callers on a node of one size.
func scale(program, descriptors, result string, length time.Duration, turns int) {
	run := figures.Describe(length, turns)
	run["client"] = "grpc-go " + figures.GRPCVersion(os.Args[0])
	var servers []*figures.Server
	for turn := 0; turn < turns; turn++ {
		var nodes []*node
		for i, size := range sizes {
			n := startNode(program, descriptors, scenario(size))
			nodes = append(nodes, n)
			if turn == 0 {
				servers = append(servers, figures.NewServer(fmt.Sprintf("%d disks", size)))
			}
			servers[i].Process = n.process
			servers[i].Add("", rssIdle, n.process.RSS())
		}
		for k, call := range scaledCalls {
			for i := range sizes {
				who := (i + k + turn) % len(sizes)
				measureCall(servers[who], nodes[who], sizes[who], call, length)
			}
		}
		for _, n := range nodes {
			n.stop()
		}
	}
	many := figures.NewServer(fmt.Sprintf("callers on %d disks", callersNode))
	for turn := 0; turn < turns; turn++ {
		// So many of one client process may not wait by default.
		n := startNode(program, descriptors, scenario(callersNode), "--max-queued=1024")
		many.Process = n.process
		for _, call := range callersCalls() {
			for i := range callers {
				measureCallers(many, n, callers[(i+turn)%len(callers)], call, length)
			}
		}
		many.Add("", figures.RSSAfter, n.process.RSS())
		n.stop()
	}
	printScale(servers, many)
	figures.Conclude(run)
	figures.WriteRun(run, append(servers, many), result+".json")
	writeScale(servers, many, result)
}

// callersCalls are those whose cost is measured as the callers grow.
func callersCalls() []scaled {
	var calls []scaled
	for _, call := range scaledCalls {
		if call.name == "PathExists" || call.name == "GetVolumeStats" || call.name == "ListDiskLocations" {
			calls = append(calls, call)
		}
	}
	return calls
}

// Some prime, so that calls that follow each other are about disks that do not.
const stride = 7919

// measureCall lets one client call again and again, each time about another disk.
func measureCall(s *figures.Server, n *node, size int, call scaled, length time.Duration) {
	c := n.connect()
	defer c.close()
	once := func(i int) { mustCall(call, c, i, size) }
	for i := range min(size, 100) {
		once(i)
	}
	var times []float64
	counted, cpuBefore := n.admin.counts(), n.process.CPU()
	for begin := time.Now(); time.Since(begin) < length; {
		start := time.Now()
		once(len(times))
		times = append(times, float64(time.Since(start).Nanoseconds())/1e3)
	}
	calls := float64(len(times))
	s.Add(call.name, figures.CPU, (n.process.CPU()-cpuBefore)/calls)
	now := n.admin.counts()
	s.Add(call.name, machineTime, (now.busy-counted.busy)/1e3/calls)
	s.Add(call.name, win32Calls, (now.win32-counted.win32)/calls)
	s.Add(call.name, wmiCalls, (now.wmi-counted.wmi)/calls)
	s.Add(call.name, wmiObjects, (now.objects-counted.objects)/calls)
	sort.Float64s(times)
	s.Add(call.name, figures.P50, times[len(times)/2])
	s.Add(call.name, figures.P99, times[len(times)*99/100])
}

func mustCall(call scaled, c *clients, i, size int) {
	if err := call.call(c, 1+i*stride%size, size); err != nil {
		figures.Must(fmt.Errorf("%s on a node of %d disks: %w", call.name, size, err))
	}
}

// measureCallers lets many clients call at once, each over a connection of its own.
func measureCallers(s *figures.Server, n *node, many int, call scaled, length time.Duration) {
	load := fmt.Sprintf("%s, %d callers", call.name, many)
	times := make([][]float64, many)
	var all []*clients
	for range many {
		c := n.connect()
		defer c.close()
		all = append(all, c)
	}
	var ready, done sync.WaitGroup
	ready.Add(many)
	done.Add(many)
	begin := make(chan struct{})
	for i, c := range all {
		go func() {
			defer done.Done()
			mustCall(call, c, i, callersNode)
			ready.Done()
			<-begin
			for end := time.Now().Add(length); time.Now().Before(end); {
				start := time.Now()
				mustCall(call, c, i+len(times[i]), callersNode)
				times[i] = append(times[i], float64(time.Since(start).Nanoseconds())/1e3)
			}
		}()
	}
	ready.Wait()
	cpuBefore, start := n.process.CPU(), time.Now()
	close(begin)
	done.Wait()
	seconds := time.Since(start).Seconds()
	var sorted []float64
	for _, t := range times {
		sorted = append(sorted, t...)
	}
	sort.Float64s(sorted)
	s.Add(load, figures.CPU, (n.process.CPU()-cpuBefore)/float64(len(sorted)))
	s.Add(load, figures.Rate, float64(len(sorted))/seconds)
	s.Add(load, figures.P50, sorted[len(sorted)/2])
	s.Add(load, figures.P99, sorted[len(sorted)*99/100])
}

// exponent is the power of the size to which a figure grows between the two largest nodes.
func exponent(at func(*figures.Server) float64, servers []*figures.Server) float64 {
	last := len(servers) - 1
	smaller, larger := at(servers[last-1]), at(servers[last])
	if smaller <= 0 || larger <= 0 {
		return 0
	}
	return math.Log(larger/smaller) / math.Log(float64(sizes[last])/float64(sizes[last-1]))
}

// tolerance is how far a call's cost may exceed its power, since measurements are inexact.
const tolerance = 0.15

func verdict(call scaled, exponents ...float64) string {
	for _, e := range exponents {
		if e > call.power+tolerance {
			return "GROWS"
		}
	}
	return []string{"flat", "linear"}[int(call.power)]
}

func printScale(servers []*figures.Server, many *figures.Server) {
	fmt.Print("| p50, µs, on a node of ... disks | 1 | 10 | 100 | 1,000 | exponent | p99 at 1,000 | | \n|---|---|---|---|---|---|---|---|\n")
	for _, call := range scaledCalls {
		e := exponent(func(s *figures.Server) float64 { return s.Median(call.name, figures.P50) }, servers)
		fmt.Printf("| %s |", call.name)
		for _, s := range servers {
			fmt.Printf(" %.0f |", s.Median(call.name, figures.P50))
		}
		fmt.Printf(" %.2f | %.0f | %s |\n", e, servers[len(servers)-1].Median(call.name, figures.P99), verdict(call, e))
	}
	fmt.Print("\n| a call, on 100 and 1,000 disks | CPU, µs | of it the simulated machine | csi-proxy's own | exponent | Win32 calls | WMI calls | WMI objects | |\n" +
		"|---|---|---|---|---|---|---|---|---|\n")
	last := servers[len(servers)-2:]
	for _, call := range scaledCalls {
		both := func(at func(*figures.Server) float64, digits int) string {
			return fmt.Sprintf("%.*f, %.*f", digits, at(last[0]), digits, at(last[1]))
		}
		figure := func(what string) func(*figures.Server) float64 {
			return func(s *figures.Server) float64 { return s.Median(call.name, what) }
		}
		own := func(s *figures.Server) float64 {
			return s.Median(call.name, figures.CPU) - s.Median(call.name, machineTime)
		}
		e := exponent(own, servers)
		fmt.Printf("| %s | %s | %s | %s | %.2f | %s | %s | %s | %s |\n", call.name, both(figure(figures.CPU), 0),
			both(figure(machineTime), 0), both(own, 0), e, both(figure(win32Calls), 0), both(figure(wmiCalls), 0),
			both(figure(wmiObjects), 0), verdict(call, e, exponent(figure(win32Calls), servers),
				exponent(figure(wmiCalls), servers), exponent(figure(wmiObjects), servers)))
	}
	fmt.Printf("\n| clients, each on a connection | rpc | p50, µs | p99, µs | calls/s | CPU, µs/call |\n|---|---|---|---|---|---|\n")
	for _, call := range callersCalls() {
		for _, n := range callers {
			load := fmt.Sprintf("%s, %d callers", call.name, n)
			fmt.Printf("| %d | %s | %.0f | %.0f | %.0f | %.0f |\n", n, call.name, many.Median(load, figures.P50),
				many.Median(load, figures.P99), many.Median(load, figures.Rate), many.Median(load, figures.CPU))
		}
	}
	fmt.Print("\nRSS idle, MiB:")
	for _, s := range servers {
		fmt.Printf(" %.1f with %s", s.Median("", rssIdle), s.Name)
	}
	fmt.Printf("; after all clients %.1f\n", many.Median("", figures.RSSAfter))
}

// writeScale makes a line of each size with p50 of each call, and one of each number of callers with
// p50 and CPU of each of their calls.
func writeScale(servers []*figures.Server, many *figures.Server, result string) {
	var out bytes.Buffer
	fmt.Fprint(&out, "size")
	for _, call := range scaledCalls {
		fmt.Fprintf(&out, " %s", call.name)
	}
	fmt.Fprintln(&out)
	for i, s := range servers {
		fmt.Fprint(&out, sizes[i])
		for _, call := range scaledCalls {
			fmt.Fprintf(&out, " %.3f", s.Median(call.name, figures.P50))
		}
		fmt.Fprintln(&out)
	}
	figures.Must(os.WriteFile(result+".dat", out.Bytes(), 0o644))
	out.Reset()
	fmt.Fprint(&out, "callers")
	for _, call := range callersCalls() {
		fmt.Fprintf(&out, " %[1]s %[1]s", call.name)
	}
	fmt.Fprintln(&out)
	for _, n := range callers {
		fmt.Fprint(&out, n)
		for _, call := range callersCalls() {
			load := fmt.Sprintf("%s, %d callers", call.name, n)
			fmt.Fprintf(&out, " %.3f %.3f", many.Median(load, figures.P50), many.Median(load, figures.CPU))
		}
		fmt.Fprintln(&out)
	}
	figures.Must(os.WriteFile(result+"-callers.dat", out.Bytes(), 0o644))
}
