package steps

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
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

// AtOnce runs an action for each volume concurrently and joins the errors.
func AtOnce[Volume any](volumes []Volume, action func(Volume) error) error {
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

// Embedded runs life for a driver that does the storage work itself, without a service. The node is this
// machine, and only the driver's own answers are checked. Prints the version of the module.
func Embedded(driver, module string, life func(run *Run)) {
	run := &Run{}
	run.Driver(driver+"*", "this machine")
	life(run)
	run.Total(Version(module))
	if run.failed || run.steps == 0 {
		os.Exit(1)
	}
}

// Equal returns an error unless err is nil and got equals wanted.
func Equal[T comparable](got, wanted T, err error) error {
	if err == nil && got != wanted {
		err = fmt.Errorf("%v, not %v", got, wanted)
	}
	return err
}

// nodes are the simulated nodes (server/simulator/scenarios/) of the clouds where a driver runs. The steps kill
// the service within each rpc only on a driver's first node.
var nodes = []struct{ driver, scenario string }{
	{"ebs.csi.aws.com", "ec2-nitro-2022"},
	{"ebs.csi.aws.com", "ec2-nitro-2019"},
	{"disk.csi.azure.com", "azure-scsi"},
	{"disk.csi.azure.com", "azure-nvme"},
	{"pd.csi.storage.gke.io", "gce-pd-scsi"},
	{"pd.csi.storage.gke.io", "gce-nvme"},
	{"csi.vsphere.vmware.com", "vsphere-pvscsi"},
	{"file.csi.azure.com", "azure-scsi"},
	{"smb.csi.k8s.io", "ec2-nitro-2022"},
}

// onNodes takes a driver through a life on each of its nodes.
func (r *Run) onNodes(driver, version string, life func(first bool)) {
	first := true
	for _, node := range nodes {
		if node.driver != driver {
			continue
		}
		r.Driver(driver, node.scenario)
		life(first)
		r.Total(version)
		first = false
	}
	if first {
		panic(driver + " has no node")
	}
}

// useMachine makes this machine the file server as well. Windows requires three kinds of characters in a
// password.
func useMachine() {
	shareHost, _ = os.Hostname()
	shareUser = shareHost + `\csi-proxy-share`
	Password = "Correct horse 1 battery"
}

// machineTurn allows one run of the script at a time.
var machineTurn sync.Mutex

// runMachine lets the script do what the method of the admin service does.
func runMachine(script, method, request string, response proto.Message) error {
	machineTurn.Lock()
	defer machineTurn.Unlock()
	command := exec.Command("powershell.exe", "-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass",
		"-File", script, "-Method", method)
	command.Stdin = strings.NewReader(request)
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.Output()
	if err == nil {
		err = protojson.Unmarshal(out, response)
	}
	if err != nil {
		return fmt.Errorf("%s on this machine: %w: %s%s", method, err, out, said.Bytes())
	}
	return nil
}

// OnMachine returns true if the node is this machine.
func (r *Run) OnMachine() bool { return r.machine != "" }

// onMachine takes a driver through a life on this machine.
func (r *Run) onMachine(driver, version string, life func()) {
	r.Driver(driver, "this machine")
	life()
	r.Total(version)
}
