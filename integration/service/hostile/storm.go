package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"csi-proxy.example/integration/drivers/steps"
)

// The maximum factors by which an attack may multiply the time of a storm and the p99 of a third
// tenant.
const (
	longerLimit = 1.25
	thirdLimit  = 3
)

// The attacks during which a driver stages many volumes.
var stormAttacks = []string{"disk flood", "a hundred pods", "idle after the preface", "readers that do not read"}

// storms measures the time that a driver needs to stage volumes, alone and during attacks, and the times of a
// third tenant's quick calls. Driver and tenant are programs of their own: bench/peer's storm and load. Linux
// only.
func storms(service *steps.Service, o options) (bool, error) {
	latencies, err := os.ReadFile(o.scenario)
	if err != nil {
		return false, err
	}
	scenario := string(latencies)
	for i := 1; i <= o.storm; i++ {
		scenario += fmt.Sprintf("disk { number: %d size_bytes: 1073741824 page83: \"storm-%d\" serial_number: \"storm-%d\" "+
			"location: \"Integrated : Adapter 3 : Port 0 : Target 0 : LUN %d\" offline: true }\n", i, i, i, i)
	}
	fmt.Println("| attack | all staged after, s: alone, attacked | GetDiskState p99, ms: alone, during the storm, attacked | verdict |")
	fmt.Println("|---|---|---|---|")
	passed := true
	for _, name := range stormAttacks {
		if o.only != "" && o.only != name {
			continue
		}
		at := 0
		for attacks[at].name != name {
			at++
		}
		calm, err := blow(service, scenario, nil, o)
		if err != nil {
			return false, err
		}
		attacked, err := blow(service, scenario, &attacks[at], o)
		if err != nil {
			return false, fmt.Errorf("%s: %w", name, err)
		}
		var reasons []string
		if attacked.failed > 0 {
			reasons = append(reasons, fmt.Sprintf("%v volumes failed", attacked.failed))
		}
		if ratio := attacked.seconds / calm.seconds; ratio > longerLimit {
			reasons = append(reasons, fmt.Sprintf("the storm took %.2f times as long", ratio))
		}
		if ratio := attacked.p99 / calm.quiet; ratio > thirdLimit {
			reasons = append(reasons, fmt.Sprintf("p99 grew to %.1f times", ratio))
		}
		verdict := "holds"
		if len(reasons) > 0 {
			passed, verdict = false, "FAILED: "+strings.Join(reasons, "; ")
		}
		fmt.Printf("| %s | %.2f, %.2f | %.2f, %.2f, %.2f | %s |\n", name, calm.seconds, attacked.seconds, calm.quiet, calm.p99,
			attacked.p99, verdict)
	}
	return passed, nil
}

// stormResult is what the driver of a storm and the third tenant measured.
type stormResult struct {
	seconds, failed float64
	// The third tenant's p99, in milliseconds, before and during the storm.
	quiet, p99 float64
}

// beside runs a program from this program's folder and returns the figures that it prints.
func beside(name string, arguments ...string) (figures map[string]any, err error) {
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.Command(filepath.Join(filepath.Dir(own), name), arguments...)
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err == nil {
		err = json.Unmarshal(output, &figures)
	}
	return figures, err
}

// third asks for a disk's state repeatedly and returns the p99 in milliseconds.
func third(length time.Duration) (float64, error) {
	figures, err := beside("third.exe", "-rpc", "GetDiskState", "-socket", steps.PipePath("csi-proxy-disk-v1"), "-length", length.String())
	if err != nil {
		return 0, err
	}
	return figures["p99_us"].(float64) / 1e3, nil
}

func blow(service *steps.Service, scenario string, attack *attack, o options) (r stormResult, err error) {
	if err := service.Start(scenario); err != nil {
		return r, err
	}
	defer service.Kill()
	if attack == nil {
		if r.quiet, err = third(3 * time.Second); err != nil {
			return r, err
		}
	} else {
		if attack.fault != nil {
			if err := service.Call("InjectFault", map[string]any{"fault": attack.fault}); err != nil {
				return r, err
			}
		}
		attackers, err := startAttackers(*attack, o)
		if err != nil {
			return r, err
		}
		for _, a := range attackers {
			fmt.Fprintln(a.input)
		}
		defer func() {
			var ignored summary
			for _, a := range attackers {
				a.end(&ignored)
			}
		}()
		time.Sleep(time.Second)
	}
	p99 := make(chan float64, 1)
	failed := make(chan error, 1)
	go func() {
		during, err := third(4 * time.Second)
		p99 <- during
		failed <- err
	}()
	figures, err := beside("storm.exe", "-directory", filepath.Dir(steps.PipePath("x")), "-by", "released", "-count", fmt.Sprint(o.storm))
	if err != nil {
		return r, err
	}
	r.seconds, r.failed = figures["seconds"].(float64), figures["failed"].(float64)
	r.p99 = <-p99
	return r, <-failed
}
