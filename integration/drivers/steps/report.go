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

// stepLimit ends a step whose call hangs: the drivers themselves set no deadline.
const stepLimit = 90 * time.Second

// Run is one program's: it counts the steps of one driver after the other.
type Run struct {
	*Service
	// Ready makes one call on each of the driver's connections. A connection that met a service that was
	// away waits a second or more before it looks again.
	Ready func() error
	// Fresh, if set, has a driver forget what it keeps of a node.
	Fresh         func()
	driver, node  string
	steps, passed int
	// The state of each disk when the scenario began; a driver changes none of these disks.
	before         map[uint32]string
	failed         bool
	scenarioFailed bool
}

// Main has `lives` take a driver, or several, through its volumes' lives.
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
		// Drivers make directories by paths without a drive, which are not meant for Wine's Z:, this machine.
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
	// Even when the driver's code panics: the next program wants the pipes.
	defer service.Kill()
	run := &Run{Service: service}
	err = lives(run)
	return run.failed, err
}

// Driver begins a driver's steps on a node.
func (r *Run) Driver(name, node string) {
	r.driver, r.node, r.steps, r.passed = name, node, 0, 0
}

// Total ends a driver's steps with the line that run.sh makes its table of.
func (r *Run) Total(version string) {
	fmt.Printf("total\t%s\t%s\t%s\t%d\t%d\n", r.driver, version, r.node, r.steps, r.passed)
	if r.passed != r.steps {
		r.failed = true
	}
}

// Version is that of a module this program was built with.
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

// Scenario begins anew with the node of that name, which `prepare` makes ready. Steps after a
// failed one are not tried before the next scenario, and count as failed.
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

// reachable waits until all of the driver's connections stand.
func (r *Run) reachable() error {
	if err := until(r.Ready); err != nil {
		return fmt.Errorf("the driver cannot reach the service: %w", err)
	}
	return nil
}

// untouched: each disk of the node that is no volume of the driver's is as it was.
func (r *Run) untouched(node *Node) error {
	now := node.others()
	for number, was := range r.before {
		if now[number] != was {
			return fmt.Errorf("disk %d is not the driver's, and was %s, and is %s", number, was, now[number])
		}
	}
	return nil
}

// Step takes one step, which is passed when it ends without an error.
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

// limited turns what a driver does to its process, a panic, into an error, and a call that hangs too.
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

// Then runs checks of the node in turn, on one look at it.
func (r *Run) Then(checks ...func(node *Node) error) error {
	node, _, err := r.Dump()
	for _, check := range checks {
		if err == nil {
			err = check(node)
		}
	}
	return err
}

// verified is the error, if there is one, or what the checks find.
func (r *Run) verified(err error, checks ...func(node *Node) error) error {
	if err != nil {
		return err
	}
	return r.Then(checks...)
}

// atOnce takes an action for each volume at the same time; the errors are those of all.
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
