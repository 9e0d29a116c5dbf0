package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// process runs until it is stopped. Its output goes to a file; the lines of standard output are also kept.
type process struct {
	command *exec.Cmd
	ended   chan struct{}

	lock  sync.Mutex
	lines []string
}

func start(log string, argv ...string) *process {
	file := must(os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644))
	fmt.Fprintln(file, "#", strings.Join(argv, " "))
	p := &process{command: exec.Command(argv[0], argv[1:]...), ended: make(chan struct{})}
	p.command.Stderr = file
	// The child is killed when this process ends.
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	output := must(p.command.StdoutPipe())
	if err := p.command.Start(); err != nil {
		panic(err)
	}
	go func() {
		lines := bufio.NewScanner(output)
		for lines.Scan() {
			p.lock.Lock()
			p.lines = append(p.lines, lines.Text())
			p.lock.Unlock()
			fmt.Fprintln(file, lines.Text())
		}
		p.command.Wait()
		fmt.Fprintln(file, "#", p.command.ProcessState)
		file.Close()
		close(p.ended)
	}()
	return p
}

// exit returns how the process ended, or "runs" if it did not end in time.
func (p *process) exit(within time.Duration) string {
	select {
	case <-p.ended:
		state := p.command.ProcessState
		if signal := state.Sys().(syscall.WaitStatus); signal.Signaled() {
			return signal.Signal().String()
		}
		return "exit " + strconv.Itoa(state.ExitCode())
	case <-time.After(within):
		return "runs"
	}
}

func (p *process) signal(signal syscall.Signal) string {
	p.command.Process.Signal(signal)
	return p.exit(10 * time.Second)
}

func (p *process) kill() {
	if p != nil {
		p.signal(syscall.SIGKILL)
	}
}

// linesFrom returns the lines from first on, once there are wanted lines and 1.5 s have brought no further one:
// the kubelet looks for changes every second.
func (p *process) linesFrom(first, wanted int) []string {
	deadline := time.Now().Add(15 * time.Second)
	count := func() int {
		p.lock.Lock()
		defer p.lock.Unlock()
		return len(p.lines)
	}
	for count() < first+wanted && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
	}
	for last := -1; last != count() && time.Now().Before(deadline); {
		last = count()
		time.Sleep(1500 * time.Millisecond)
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	if len(p.lines) < first {
		return nil
	}
	return append([]string{}, p.lines[first:]...)
}

func waitFor(within time.Duration, done func() bool) bool {
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if done() {
			return true
		}
	}
	return done()
}

// freeAddress returns a loopback address whose port was free a moment ago.
func freeAddress() string {
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	defer listener.Close()
	return listener.Addr().String()
}

var web = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true},
	Timeout:       20 * time.Second,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// request returns the code, or "refused" if nothing listens, and the body.
func request(method, address, path string) (string, string) {
	asked := must(http.NewRequest(method, "http://"+address+path, nil))
	answer, err := web.Do(asked)
	if err != nil {
		if strings.Contains(err.Error(), "connection refused") {
			return "refused", ""
		}
		return "no answer: " + err.Error(), ""
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	return strconv.Itoa(answer.StatusCode), string(body)
}

func get(address, path string) string {
	code, _ := request("GET", address, path)
	return code
}

// served waits until the path answers, and the answer is not that the driver is silent. Returns
// false after 20 s.
func served(address, path string) bool {
	return waitFor(20*time.Second, func() bool {
		code, body := request("GET", address, path)
		return code != "refused" && !strings.Contains(body, "has not answered yet")
	})
}

// programs are the sidecars under test, as programs with upstream's flags.
type programs struct {
	name, registrar, livenessprobe string
}

func programsIn(name, directory string) programs {
	return programs{name, filepath.Join(directory, "csi-node-driver-registrar"), filepath.Join(directory, "livenessprobe")}
}
