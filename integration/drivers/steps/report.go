package steps

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// stepLimit ends a step whose call hangs, because the drivers set no deadline.
const stepLimit = 90 * time.Second

// Run is the run of one program, which counts the steps of its drivers.
type Run struct {
	*Service
	// Ready makes a call on each of the driver's connections. A connection that lost its service waits a second or
	// more before it dials again.
	Ready func() error
	// Fresh, if set, makes a driver forget what it stores about a node.
	Fresh         func()
	driver, node  string
	steps, passed int
	// The state of each disk when the scenario began. A driver must not change these disks.
	before         map[uint32]string
	failed         bool
	scenarioFailed bool
}

// Main parses the flags and runs lives, which takes drivers through their volumes' lives.
func Main(lives func(run *Run) error) {
	program := flag.String("service", "", "csi-proxy")
	descriptors := flag.String("descriptors", "", "admin.proto and what it imports, compiled")
	directory := flag.String("directory", "", "where logs and scenarios may be left")
	machine := flag.String("machine", "", "machine.ps1, on a machine whose own service is called, instead of a service with a simulated node")
	flag.Parse()
	for _, path := range []*string{program, descriptors, directory} {
		*path, _ = filepath.Abs(*path)
	}
	if *machine != "" {
		*machine, _ = filepath.Abs(*machine)
		useMachine()
	}
	if runtime.GOOS == "windows" {
		// Drivers create directories by paths without a drive, which must not be on Wine's Z:, i.e. on this machine.
		os.Chdir(`C:\`)
	}
	failed, err := take(lives, *program, *descriptors, *directory, *machine)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if failed || err != nil {
		os.Exit(1)
	}
}

func take(lives func(run *Run) error, program, descriptors, directory, machine string) (failed bool, err error) {
	service, err := NewService(program, descriptors, directory)
	if err != nil {
		return false, err
	}
	service.machine = machine
	if machine != "" {
		defer service.Call("Reset", struct{}{})
	}
	// Kills the service even if the driver's code panics, because the next program needs the pipes.
	defer service.Kill()
	run := &Run{Service: service}
	err = lives(run)
	return run.failed, err
}

// Driver begins a driver's steps on a node.
func (r *Run) Driver(name, node string) {
	r.driver, r.node, r.steps, r.passed = name, node, 0, 0
}

// Total ends a driver's steps with a line for run.sh's table.
func (r *Run) Total(version string) {
	fmt.Printf("total\t%s\t%s\t%s\t%d\t%d\n", r.driver, version, r.node, r.steps, r.passed)
	if r.passed != r.steps {
		r.failed = true
	}
}

// Version returns the version of a module in this program.
func Version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, dependency := range info.Deps {
		if dependency.Path != module {
			continue
		}
		if dependency.Replace != nil && dependency.Replace.Version != "" {
			return dependency.Replace.Version
		}
		return dependency.Version
	}
	return "unknown"
}

// Scenario resets the node to the scenario and runs prepare. After a failed step, the steps up to the next
// scenario are skipped and count as failed.
func (r *Run) Scenario(name string, prepare func() error) {
	r.scenarioFailed = false
	r.before = nil
	if r.Fresh != nil {
		r.Fresh()
	}
	remember := func() error {
		return r.Then(func(node *Node) error {
			r.before = node.others()
			return nil
		})
	}
	if err := inTurn(func() error { return r.Start(name) }, r.reachable, prepare, remember); err != nil {
		r.Step("start of the service", func() error { return err })
	}
}

// reachable waits until all of the driver's connections work.
func (r *Run) reachable() error {
	if err := until(r.Ready); err != nil {
		return fmt.Errorf("the driver cannot reach the service: %w", err)
	}
	return nil
}

// untouched checks that every disk that is not a volume of the driver is unchanged.
func (r *Run) untouched(node *Node) error {
	now := node.others()
	for number, was := range r.before {
		if now[number] != was {
			return fmt.Errorf("disk %d is not the driver's, and was %s, and is %s", number, was, now[number])
		}
	}
	return nil
}

// Step runs a step, which passes if it returns no error.
func (r *Run) Step(name string, step func() error) {
	r.steps++
	if r.scenarioFailed {
		fmt.Printf("not reached\t%s on %s: %s\n", r.driver, r.node, name)
		return
	}
	began := time.Now()
	err := limited(step)
	if err == nil && r.before != nil {
		err = r.Then(r.untouched)
	}
	if err != nil {
		r.scenarioFailed = true
		fmt.Printf("FAILED\t%s on %s: %s: %s\n", r.driver, r.node, name, strings.ReplaceAll(err.Error(), "\n", " "))
		return
	}
	r.passed++
	fmt.Printf("passed\t%s on %s: %s (%d ms)\n", r.driver, r.node, name, time.Since(began).Milliseconds())
}

// limited turns a panic of the driver, or a call that hangs, into an error.
func limited(step func() error) error {
	ended := make(chan error, 1)
	go func() {
		defer func() {
			if panicked := recover(); panicked != nil {
				ended <- fmt.Errorf("panic: %v", panicked)
			}
		}()
		ended <- step()
	}()
	select {
	case err := <-ended:
		return err
	case <-time.After(stepLimit):
		return fmt.Errorf("not done after %v", stepLimit)
	}
}

// Then runs checks on one dump of the node.
func (r *Run) Then(checks ...func(node *Node) error) error {
	node, _, err := r.Dump()
	for _, check := range checks {
		if err == nil {
			err = check(node)
		}
	}
	return err
}

// verified returns err if it is not nil, otherwise the result of the checks.
func (r *Run) verified(err error, checks ...func(node *Node) error) error {
	if err != nil {
		return err
	}
	return r.Then(checks...)
}

// atOnce runs an action for each volume concurrently and joins the errors.
func atOnce[Volume any](volumes []Volume, action func(Volume) error) error {
	failures := make([]error, len(volumes))
	var group sync.WaitGroup
	for i, volume := range volumes {
		group.Add(1)
		go func() {
			defer group.Done()
			failures[i] = limited(func() error { return action(volume) })
		}()
	}
	group.Wait()
	return errors.Join(failures...)
}
