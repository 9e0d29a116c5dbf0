package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"csi-proxy.example/integration/drivers/steps"
)

// proc returns the kernel's folder of processes. Wine shows it on drive Z:, where its processes have the
// kernel's ids.
func proc() string {
	if runtime.GOOS == "windows" {
		return `Z:\proc`
	}
	return "/proc"
}

// process is the service's process, by the kernel's id.
type process struct {
	directory string
}

// findProcess finds the process of the program with a scenario from the directory.
func findProcess(program, directory string) (*process, error) {
	base := filepath.Base(program)
	found, err := filepath.Glob(filepath.Join(proc(), "[0-9]*", "cmdline"))
	if err != nil {
		return nil, err
	}
	var all []string
	for _, file := range found {
		words, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		first, _, _ := strings.Cut(string(words), "\x00")
		if strings.HasSuffix(first, base) && strings.Contains(string(words), "--scenario="+directory) {
			all = append(all, filepath.Dir(file))
		}
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("%d processes run %s", len(all), base)
	}
	return &process{all[0]}, nil
}

// cpu returns the CPU time that the process has used.
func (p *process) cpu() (time.Duration, error) {
	text, err := os.ReadFile(filepath.Join(p.directory, "stat"))
	if err != nil {
		return 0, err
	}
	// After the name, which may contain anything, come fields 3 and on. Fields 14 and 15 are hundredths of a
	// second (https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html).
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var user, system time.Duration
	if len(fields) > 12 {
		fmt.Sscan(fields[11], &user)
		fmt.Sscan(fields[12], &system)
	}
	return (user + system) * 10 * time.Millisecond, nil
}

// descriptors returns the number of open descriptors; 0 under Wine, whose handles are not descriptors.
func (p *process) descriptors() int {
	if !isLinux {
		return 0
	}
	open, _ := os.ReadDir(filepath.Join(p.directory, "fd"))
	return len(open)
}

// descriptorLimit returns the number of descriptors that the process may have open.
func (p *process) descriptorLimit() (limit int) {
	text, _ := os.ReadFile(filepath.Join(p.directory, "limits"))
	_, rest, _ := strings.Cut(string(text), "Max open files")
	fmt.Sscan(rest, &limit)
	return limit
}

// status returns a number from /proc/<pid>/status, in the unit used there (KiB for sizes).
func (p *process) status(name string) (int, error) {
	text, err := os.ReadFile(filepath.Join(p.directory, "status"))
	if err != nil {
		return 0, err
	}
	for _, line := range strings.Split(string(text), "\n") {
		if rest, found := strings.CutPrefix(line, name+":"); found {
			number := 0
			_, err := fmt.Sscan(rest, &number)
			return number, err
		}
	}
	return 0, fmt.Errorf("%s has no %s", p.directory, name)
}

const isLinux = runtime.GOOS == "linux"

// running is a started program with its standard input and output.
type running struct {
	command *exec.Cmd
	input   io.WriteCloser
	output  *bufio.Reader
}

// start starts the program `name` from the folder of this program.
func start(name string, log *os.File, arguments ...string) (running, error) {
	own, err := os.Executable()
	if err != nil {
		return running{}, err
	}
	command := exec.Command(filepath.Join(filepath.Dir(own), name), arguments...)
	command.Stderr = log
	input, err := command.StdinPipe()
	if err != nil {
		return running{}, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return running{}, err
	}
	return running{command, input, bufio.NewReader(output)}, command.Start()
}

// ready waits for the program's first line.
func (r running) ready() error {
	if line, err := r.output.ReadString('\n'); err != nil {
		return fmt.Errorf("%s said %q: %w", r.command.Path, line, err)
	}
	return nil
}

// holder is a process of hold/hold.c: another client, which costs the machine almost nothing.
type holder struct{ running }

// startHolder starts a holder and waits until it can dial. `how` is dial or pass, see hold.c.
func startHolder(how, connections string) (*holder, error) {
	program, err := start("hold.exe", os.Stderr, steps.PipePath(attacked), how, connections)
	if err != nil {
		return nil, err
	}
	return &holder{program}, program.ready()
}

// send lets the holder dial and send bytes on each connection. Returns the number of connections.
func (h *holder) send(bytes []byte) (connections int) {
	h.input.Write(bytes)
	h.input.Close()
	fmt.Fscanln(h.output, &connections)
	return connections
}

func (h *holder) kill() {
	h.command.Process.Kill()
	h.command.Wait()
}
