// What a pod that has been taken over can do to the service through a pipe it was given, while eight
// honest clients work; and what a service that crashes does to its clients. See README.md.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"csi-proxy.example/drivers/steps"
)

type options struct {
	service, descriptors, directory string
	only                            string
	seconds                         int
	paths, crashes                  int
	seed                            int64
}

func main() {
	if len(os.Args) > 2 && os.Args[1] == "attacker" {
		attacker(os.Args[2])
		return
	}
	var o options
	flag.StringVar(&o.service, "service", "", "csi-proxy")
	flag.StringVar(&o.descriptors, "descriptors", "", "admin.proto and what it imports, compiled")
	flag.StringVar(&o.directory, "directory", "", "where logs and scenarios may be left")
	flag.StringVar(&o.only, "only", "", "the attack of this name alone")
	flag.IntVar(&o.seconds, "seconds", 5, "how long each attack takes")
	flag.IntVar(&o.paths, "paths", 0, "instead: so many hostile paths, names and ids")
	flag.IntVar(&o.crashes, "crashes", 0, "instead: so many crashes of the service")
	flag.Int64Var(&o.seed, "seed", time.Now().UnixNano(), "of the paths")
	flag.Parse()
	for _, path := range []*string{&o.service, &o.descriptors, &o.directory} {
		*path, _ = filepath.Abs(*path)
	}
	passed, err := run(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if !passed || err != nil {
		os.Exit(1)
	}
}

func run(o options) (passed bool, err error) {
	if o.crashes > 0 {
		return crashes(o)
	}
	service, err := steps.NewService(o.service, o.descriptors, o.directory)
	if err != nil {
		return false, err
	}
	defer service.Kill()
	if o.paths > 0 {
		return hostilePaths(service, o)
	}
	return allAttacks(service, o)
}

// The limits of what an attack may do to others.
const (
	memoryLimit = 1.5
	slowerLimit = 3
	// Below this a call is quick, and three times as slow as before is no harm: on two busy cores the
	// scheduler alone takes that.
	quick = 20 * time.Millisecond
)

func allAttacks(service *steps.Service, o options) (bool, error) {
	fmt.Printf("%-26s %-11s %-21s %-21s %-12s %s\n", "attack", "attackers'", "honest p99, ms", "RSS, MB", "verdict", "")
	fmt.Printf("%-26s %-11s %-21s %-21s\n", "", "conns ended", "before  during  after", "before  peak  after")
	passed := true
	for _, attack := range attacks {
		if o.only != "" && o.only != attack.name {
			continue
		}
		wrong, err := measure(service, attack, o)
		if err != nil {
			return false, fmt.Errorf("%s: %w", attack.name, err)
		}
		unguarded := attack.guarded && runtime.GOOS != "windows"
		switch {
		case wrong == "":
			fmt.Println("holds")
		case unguarded:
			fmt.Println("no guard here:", wrong)
		default:
			fmt.Println("FAILED:", wrong)
			passed = false
		}
	}
	return passed, nil
}

// measure starts a service for an attack, so that none inherits what another has left, and says what
// is wrong.
func measure(service *steps.Service, attack attack, o options) (wrong string, err error) {
	if err := service.Start(node); err != nil {
		return "", err
	}
	defer service.Kill()
	process, err := findProcess(o.service, o.directory)
	if err != nil {
		return "", err
	}
	clients, err := startHonest()
	if err != nil {
		return "", err
	}
	defer clients.end()
	// Connections, threads and caches of honest work are there before anything is measured.
	time.Sleep(3 * time.Second)
	clients.take()
	time.Sleep(3 * time.Second)
	before := clients.take()
	memory, err := process.status("VmRSS")
	if err != nil {
		return "", err
	}
	if attack.fault != nil {
		if err := service.Call("InjectFault", map[string]any{"fault": attack.fault}); err != nil {
			return "", err
		}
	}

	attackers, err := startAttackers(attack, o)
	if err != nil {
		return "", err
	}
	// What it takes the machine to start a hundred processes is not the service's.
	clients.take()
	for _, a := range attackers {
		fmt.Fprintln(a.begin)
	}
	peak := memory
	for end := time.Now().Add(time.Duration(o.seconds) * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		now, err := process.status("VmRSS")
		if err != nil {
			return "the service is gone", nil
		}
		peak = max(peak, now)
	}
	during := clients.take()
	var total summary
	for _, a := range attackers {
		if err := a.end(&total); err != nil {
			return "", err
		}
	}
	if attack.fault != nil {
		if err := service.Call("ClearFaults", struct{}{}); err != nil {
			return "", err
		}
	}
	time.Sleep(2 * time.Second)
	between := clients.take()
	time.Sleep(3 * time.Second)
	after := clients.take()
	left, err := process.status("VmRSS")
	if err != nil {
		return "the service is gone", nil
	}
	fmt.Printf("%-26s %5d %5d %6v %7v %6v %8.1f %5.1f %5.1f  ", attack.name, total.Connections, total.Ended,
		before, during, after, float64(memory)/1024, float64(peak)/1024, float64(left)/1024)
	var reasons []string
	for _, phase := range []phase{before, during, between, after} {
		if len(phase.refused) > 0 {
			reasons = append(reasons, fmt.Sprintf("%d honest calls refused: %v", len(phase.refused), phase.refused[0]))
		}
		if phase.calls == 0 {
			reasons = append(reasons, "no honest call was answered")
		}
	}
	if float64(peak) > memoryLimit*float64(memory) {
		reasons = append(reasons, fmt.Sprintf("memory grew to %.1f times", float64(peak)/float64(memory)))
	}
	for _, phase := range []phase{during, after} {
		if phase.p99 > slowerLimit*before.p99 && phase.p99 > quick {
			reasons = append(reasons, fmt.Sprintf("p99 grew to %.1f times", float64(phase.p99)/float64(before.p99)))
		}
	}
	return strings.Join(reasons, "; "), nil
}

// summary is what an attacker prints at its end.
type summary struct {
	Connections, Refused, Ended, Bytes int64
}

// running is an attacker that has been started.
type running struct {
	command *exec.Cmd
	begin   io.Writer
	output  *bufio.Reader
	log     *os.File
}

// startAttackers starts the attack, in processes of its own: a pod is not the honest clients' process. They
// wait for a line.
func startAttackers(attack attack, o options) ([]running, error) {
	var all []running
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	for i := 0; i < max(1, attack.processes); i++ {
		log, err := os.Create(filepath.Join(o.directory, "attacker.log"))
		if err != nil {
			return nil, err
		}
		command := exec.Command(own, "attacker", attack.name)
		command.Stderr = log
		command.Env = append(os.Environ(), fmt.Sprintf("SECONDS_OF_ATTACK=%d", o.seconds))
		begin, err := command.StdinPipe()
		if err != nil {
			return nil, err
		}
		output, err := command.StdoutPipe()
		if err != nil {
			return nil, err
		}
		if err := command.Start(); err != nil {
			return nil, err
		}
		all = append(all, running{command, begin, bufio.NewReader(output), log})
	}
	for _, a := range all {
		if line, err := a.output.ReadString('\n'); err != nil {
			return nil, fmt.Errorf("attacker said %q: %w (see %s)", line, err, a.log.Name())
		}
	}
	return all, nil
}

// end waits for its end, and adds what it did.
func (r *running) end(total *summary) error {
	defer r.log.Close()
	var one summary
	if err := json.NewDecoder(r.output).Decode(&one); err != nil {
		return fmt.Errorf("attacker: %w (see %s)", err, r.log.Name())
	}
	total.Connections += one.Connections
	total.Refused += one.Refused
	total.Ended += one.Ended
	total.Bytes += one.Bytes
	return r.command.Wait()
}

// attacker is the whole of such a process.
func attacker(name string) {
	var seconds int
	fmt.Sscan(os.Getenv("SECONDS_OF_ATTACK"), &seconds)
	for _, attack := range attacks {
		if attack.name != name {
			continue
		}
		// On a node a pod has limits of its own; here attackers share two cores with those they attack, so
		// they get what the others leave.
		lowerPriority()
		fmt.Println("ready")
		fmt.Scanln()
		var count counters
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(seconds)*time.Second)
		attack.run(ctx, &count)
		cancel()
		json.NewEncoder(os.Stdout).Encode(summary{count.connections.Load(), count.refused.Load(), count.ended.Load(), count.bytes.Load()})
		return
	}
	fmt.Fprintf(os.Stderr, "there is no attack %q\n", name)
	os.Exit(2)
}

// node is the simulated node: a system disk with the kubelet's directories, and what no pod may touch.
var node = steps.SystemDisk(`var\lib\kubelet\plugins\kubernetes.io\csi`, `var\lib\kubelet\pods\pod\volumes`,
	`var\lib\kubelet-secret\key`, `Windows\System32\drivers`)
