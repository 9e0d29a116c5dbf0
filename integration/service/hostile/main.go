// Shows what a compromised pod can do to the service through its pipe while eight honest clients work. See
// README.md.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"csi-proxy.example/integration/drivers/steps"
)

type options struct {
	service, descriptors, directory string
	only                            string
	short                           bool
	seconds                         int
	stops, reparse, http, storm     int
	bounds                          int
	scenario                        string
	raced, outside, volume, rights  string
}

// secondsOf returns the duration of an attack.
func (o options) secondsOf(a attack) int {
	if o.short {
		return o.seconds
	}
	return max(o.seconds, a.seconds)
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
	flag.BoolVar(&o.short, "short", false, "few attacks, each for two seconds; none fails for how long calls take")
	flag.IntVar(&o.seconds, "seconds", 5, "how long each attack takes at least")
	flag.IntVar(&o.stops, "stops", 0, "instead: so many stops of the service while it is attacked")
	flag.IntVar(&o.reparse, "reparse", 0, "with -raced: so often calls through a directory that becomes a link and back")
	flag.IntVar(&o.http, "http", 0, "instead: so many connections a second to the metrics, on Linux")
	flag.IntVar(&o.storm, "storm", 0, "instead: so many volumes that a driver stages at once, on Linux")
	flag.IntVar(&o.bounds, "bounds", 0, "instead: the table Bounds, with so many seconds for each attack, on Linux")
	flag.StringVar(&o.scenario, "scenario", "", "with -storm and -bounds: the node, without further disks")
	flag.StringVar(&o.raced, "raced", "", "instead: race with that directory, on the node this runs on, whose service is called")
	flag.StringVar(&o.outside, "outside", "", "with -raced: the directory that the link leads to")
	flag.StringVar(&o.volume, "volume", "", "with -raced: the id of a volume that may be mounted")
	flag.StringVar(&o.rights, "rights", "", "instead: what this account may do to that pipe of this node, as filesystem-v1")
	flag.Parse()
	for _, path := range []*string{&o.service, &o.descriptors, &o.directory, &o.scenario} {
		*path, _ = filepath.Abs(*path)
	}
	if o.short {
		o.seconds, patience = 2, time.Minute
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
	if o.stops > 0 {
		return stops(o)
	}
	if o.http > 0 {
		return attackHTTP(o)
	}
	if o.raced != "" {
		return raceOnNode(o)
	}
	if o.rights != "" {
		return rightsOnNode(o.rights)
	}
	service, err := steps.NewService(o.service, o.descriptors, o.directory)
	if err != nil {
		return false, err
	}
	defer service.Kill()
	if o.storm > 0 {
		return storms(service, o)
	}
	if o.bounds > 0 {
		o.seconds = o.bounds
		return bounds(service, o)
	}
	return allAttacks(service, o)
}

// summary is the output of an attacker.
type summary struct {
	Connections, Refused, Ended, Bytes int64
	Answers                            map[string]int64
}

type attackerProcess struct {
	running
	log *os.File
}

// startAttackers starts the attack's processes. A process begins when it receives a line and ends at the end of
// its input.
func startAttackers(attack attack, o options) ([]attackerProcess, error) {
	var all []attackerProcess
	processes := max(1, attack.processes)
	if o.short {
		processes = min(processes, 100)
	}
	for range processes {
		log, err := os.Create(filepath.Join(o.directory, "attacker.log"))
		if err != nil {
			return nil, err
		}
		// The attacker has its own program, because the service may share out its limits by program.
		program, err := start("attacker.exe", log, "attacker", attack.name)
		if err != nil {
			return nil, err
		}
		all = append(all, attackerProcess{program, log})
	}
	for _, a := range all {
		if err := a.ready(); err != nil {
			return nil, fmt.Errorf("%w (see %s)", err, a.log.Name())
		}
	}
	return all, nil
}

// end ends the process and adds its summary to total.
func (r *attackerProcess) end(total *summary) error {
	defer r.log.Close()
	r.input.Close()
	var one summary
	if err := json.NewDecoder(r.output).Decode(&one); err != nil {
		return fmt.Errorf("attacker: %w (see %s)", err, r.log.Name())
	}
	total.Connections += one.Connections
	total.Refused += one.Refused
	total.Ended += one.Ended
	total.Bytes += one.Bytes
	for code, times := range one.Answers {
		if total.Answers == nil {
			total.Answers = map[string]int64{}
		}
		total.Answers[code] += times
	}
	return r.command.Wait()
}

// attacker runs an attack: it is the main function of an attacker's process.
func attacker(name string) {
	for _, attack := range slices.Concat(attacks, boundsAttacks) {
		if attack.name != name {
			continue
		}
		if attack.prepare != nil {
			if err := attack.prepare(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
		fmt.Println("ready")
		fmt.Scanln()
		// On a node a pod has limits of its own. Here attackers share two cores with the service and its clients, so
		// they get low priority.
		lowerPriority()
		var count counters
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			io.Copy(io.Discard, os.Stdin)
			cancel()
		}()
		attack.run(ctx, &count)
		json.NewEncoder(os.Stdout).Encode(summary{count.connections.Load(), count.refused.Load(), count.ended.Load(),
			count.bytes.Load(), count.answers})
		return
	}
	fmt.Fprintf(os.Stderr, "there is no attack %q\n", name)
	os.Exit(2)
}

// node is the simulated node: a system disk with the kubelet's directories.
const node = `
disk {
  number: 0 size_bytes: 68719476736 style: GPT page83: "systemdisk" serial_number: "system"
  location: "Integrated : Adapter 0 : Port 0 : Target 0 : LUN 0"
  partition { type: EFI_SYSTEM size_bytes: 104857600 }
  partition { type: MICROSOFT_RESERVED size_bytes: 16777216 }
  partition {
    size_bytes: 68000000000
    volume {
      id: "\\\\?\\Volume{00000000-c511-4c0d-9000-000000000001}\\" file_system: "NTFS" drive_letter: "C"
      file { path: "var\\lib\\kubelet\\plugins\\kubernetes.io\\csi" }
      file { path: "var\\lib\\kubelet\\pods\\pod\\volumes" }
      file { path: "Windows\\System32\\drivers" }
    }
  }
}
`
