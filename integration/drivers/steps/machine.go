package steps

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

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
