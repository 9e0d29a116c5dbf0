package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// together starts both sidecars in one process, which upstream does not have.
func (p *place) together(flags ...string) *process {
	argv := []string{filepath.Join(filepath.Dir(p.programs.registrar), "csi-node-sidecars"),
		"--sidecars=node-driver-registrar,livenessprobe", "--csi-address=" + p.driverSocket(),
		"--node-driver-registrar-kubelet-registration-path=" + p.driverSocket(),
		"--node-driver-registrar-plugin-registration-path=" + p.registrations()}
	return p.start("sidecars", append(argv, flags...)...)
}

func bothInOne(p *place) {
	driver := p.sampleDriver()
	kubelet := p.kubelet()
	program := p.together("--http-endpoint=" + p.health)
	p.saw("1 the kubelet registers", strings.Join(kubelet.linesFrom(1, 3), "; "))
	look := func(when string) {
		for _, path := range []string{"/healthz", "/healthz/node-driver-registrar", "/metrics", "/"} {
			p.saw(when+" GET "+path, get(p.health, path))
		}
	}
	look("1")
	driver.kill()
	look("2 without the driver:")
	p.sampleDriver()
	look("3 the driver is back:")
	p.saw("3 the driver is back: it", program.exit(0))
	kubelet.kill()
	kubelet = p.kubelet()
	p.saw("4 a new kubelet registers", strings.Join(kubelet.linesFrom(1, 3), "; "))
	since := time.Now()
	p.saw("5 SIGTERM", program.signal(syscall.SIGTERM))
	p.saw("5 SIGTERM: soon", fmt.Sprint(time.Since(since) < 5*time.Second))
	p.saw("5 SIGTERM: the directory", listing(p.registrations()))
	p.saw("5 SIGTERM: the kubelet", strings.Join(kubelet.linesFrom(4, 1), "; "))
}

func bothApart(p *place) {
	p.sampleDriver()
	program := p.together("--livenessprobe-http-endpoint="+p.health, "--node-driver-registrar-http-endpoint="+p.other)
	served(p.health)
	served(p.other)
	for name, address := range map[string]string{"livenessprobe": p.health, "registrar": p.other} {
		for _, path := range []string{"/healthz", "/healthz/node-driver-registrar", "/metrics"} {
			p.saw(name+": GET "+path, get(address, path))
		}
	}
	p.saw("SIGTERM", program.signal(syscall.SIGTERM))
}

// One kubelet refuses both components' driver.
func bothRefused(p *place) {
	p.sampleDriver()
	p.kubelet("-versions=2.0.0")
	p.saw("it", p.together("--http-endpoint="+p.health).exit(20*time.Second))
}

// A driver with its sidecars in itself: `begin` starts it, and what it is started for.
func inside(p *place, begin func() *process) {
	one := begin()
	kubelet := p.kubelet()
	p.saw("1 the kubelet registers", strings.Join(kubelet.linesFrom(1, 3), "; "))
	p.saw("1 the directory", listing(p.registrations()))
	served(p.health)
	p.saw("1 GET /healthz", get(p.health, "/healthz"))
	one.kill()
	one = begin()
	p.saw("2 a new one after SIGKILL: the kubelet", strings.Join(kubelet.linesFrom(4, 4), "; "))
	kubelet.kill()
	kubelet = p.kubelet()
	p.saw("3 a new kubelet registers", strings.Join(kubelet.linesFrom(1, 3), "; "))
	served(p.health)
	p.saw("3 GET /healthz", get(p.health, "/healthz"))
	p.saw("4 SIGTERM", one.signal(syscall.SIGTERM))
	p.saw("4 SIGTERM: the directory", listing(p.registrations()))
	p.saw("4 SIGTERM: the kubelet", strings.Join(kubelet.linesFrom(4, 1), "; "))
}

func insideDriver(p *place) {
	inside(p, func() *process {
		os.Remove(p.driverSocket())
		return p.start("driver", p.trial.sampleDriver, "--endpoint=unix://"+p.driverSocket(), "--mode=embedded",
			"--register-with-kubelet="+p.registrations(), "--http-endpoint="+p.health)
	})
}

// The exec probe of older releases: whether the kubelet has accepted the driver.
func marker(p *place) {
	probe := func(when string) {
		p.saw(when, p.start("probe", p.programs.registrar, "--kubelet-registration-path="+p.driverSocket(),
			"--mode=kubelet-registration-probe").exit(5*time.Second))
	}
	p.sampleDriver()
	probe("1 no registrar")
	registrar := p.registrar()
	p.registered()
	probe("2 no kubelet yet")
	kubelet := p.kubelet()
	kubelet.linesFrom(1, 3)
	probe("3 registered")
	registrar.signal(syscall.SIGTERM)
	probe("4 after SIGTERM")
	registrar = p.registrar()
	kubelet.linesFrom(4, 4)
	probe("5 registered again")
	registrar.kill()
	kubelet.kill()
	p.registrar()
	p.registered()
	probe("6 a new registrar after SIGKILL, no kubelet")
}

// Has the kubelet's watcher miss what happens meanwhile in its directory: while the kubelet stands
// still, the files fill the queue that the kernel keeps for it, which drops what comes after
// (https://man7.org/linux/man-pages/man7/inotify.7.html, IN_Q_OVERFLOW).
func (p *place) deafened(kubelet *process, name string, meanwhile func()) {
	kubelet.command.Process.Signal(syscall.SIGSTOP)
	defer kubelet.command.Process.Signal(syscall.SIGCONT)
	// It reads the queue until it stands.
	waitFor(10*time.Second, func() bool {
		return strings.Contains(string(must(os.ReadFile(fmt.Sprintf("/proc/%d/stat", kubelet.pid())))), ") T ")
	})
	limit := must(strconv.Atoi(strings.TrimSpace(string(must(os.ReadFile("/proc/sys/fs/inotify/max_queued_events"))))))
	// The kubelet passes over such names.
	for i := 0; i <= limit; i++ {
		must(0, os.WriteFile(fmt.Sprintf("%s/.%s%d", p.registrations(), name, i), nil, 0o600))
	}
	meanwhile()
}

// A kubelet that has missed the socket registers the driver once there is another, and only then.
func missedOnce(p *place, forEver string, begin func(timeout string) *process) {
	p.sampleDriver()
	kubelet := p.kubelet()
	var program *process
	p.deafened(kubelet, "a", func() {
		program = begin(forEver)
		p.registered()
	})
	time.Sleep(5 * time.Second)
	p.saw("1 missed: the kubelet's calls", fmt.Sprint(len(kubelet.linesFrom(1, 0))))
	program.signal(syscall.SIGTERM)
	p.deafened(kubelet, "b", func() {
		begin("2s")
		p.registered()
	})
	p.saw("2 made anew: the kubelet", strings.Join(kubelet.linesFrom(1, 3), "; "))
}

func deafKubelet(p *place) {
	missedOnce(p, "0", func(timeout string) *process {
		return p.together("--http-endpoint="+p.health, "--registration-timeout="+timeout)
	})
	_, metrics := request("GET", p.health, "/metrics")
	remade := `csi_sidecar_registration_sockets_remade_total{driver_name="` + driverName + `",reason="unanswered"} `
	_, count, found := strings.Cut(metrics, remade)
	p.saw("2 made anew: counted", fmt.Sprint(found && count[0] != '0'))
}
