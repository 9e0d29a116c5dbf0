package main

import (
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"sort"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
)

const probeTimeout = 600 * time.Millisecond

func (p *place) livenessprobe(flags ...string) *process {
	argv := []string{p.programs.livenessprobe, "--csi-address=" + p.driverSocket(), "--probe-timeout=" + probeTimeout.String()}
	return p.start("livenessprobe", append(argv, flags...)...)
}

// state is a state of the driver; enter puts the driver into it.
type state struct {
	name  string
	enter func(*driver)
}

func calls(b behaviour) func(*driver) { return func(d *driver) { d.serve(b) } }

func states() []state {
	all := []state{
		{"ready", calls(isReady)},
		{"does not say", calls(saysNone)},
		{"not ready", calls(notReady)},
		{"hangs", calls(hangs)},
		{"slow, in time", calls(slow(probeTimeout / 3))},
		{"slow, too late", calls(slow(3 * probeTimeout))},
		{"ends the connection in the call", calls(dies)},
		{"dead, its socket left", (*driver).stop},
		{"started again", calls(isReady)},
		{"gone with its socket", (*driver).remove},
		{"a file in the socket's place", func(d *driver) { d.remove(); os.WriteFile(d.path, nil, 0o600) }},
		{"speaks no HTTP/2", func(d *driver) { d.listenRaw("220 mail.example ESMTP\r\n", false) }},
		{"speaks HTTP/1.1", func(d *driver) { d.listenRaw("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", true) }},
		{"accepts and says nothing", func(d *driver) { d.listenRaw("", false) }},
		{"accepts and ends", func(d *driver) { d.listenRaw("", true) }},
		{"back again", calls(isReady)},
	}
	return all
}

// serveReady serves a driver that is ready, until the caller removes it.
func (p *place) serveReady() *driver {
	driver := newDriver(p.driverSocket(), driverName)
	driver.serve(isReady)
	return driver
}

// drivers takes one driver through every state.
func drivers(p *place) {
	driver := p.serveReady()
	defer driver.remove()
	p.livenessprobe("--http-endpoint=" + p.health)
	served(p.health, "/healthz")
	// probe returns the answer to GET, and the answer to HEAD if the codes differ.
	probe := func(s state) string {
		s.enter(driver)
		since := time.Now()
		code, body := request("GET", p.health, "/healthz")
		took := time.Since(since)
		answer := code
		if code == "200" || s.name == "not ready" {
			answer += " " + body
		} else if body == "" {
			answer += ", without a word"
		}
		if took >= probeTimeout+time.Second {
			answer += ", too late"
		}
		if head, _ := request("HEAD", p.health, "/healthz"); head != code {
			answer += ", HEAD " + head
		}
		return answer
	}
	for _, s := range states() {
		p.saw(s.name, probe(s))
	}
	answers := map[string]bool{}
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		answers[probe(state{"fails", calls(fails(code))})] = true
	}
	p.saw("fails with any code", strings.Join(slices.Sorted(maps.Keys(answers)), "; "))
	driver.serve(isReady)
	p.saw("GET", p.answers("GET", "/healthz?verbose=1", "/", "/healthz/", "/healthz/x", "/livez", "/metrics", "/metrics/"))
	p.saw("other methods", p.methods("POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
}

// answers returns the code of each path.
func (p *place) answers(method string, paths ...string) string {
	var all []string
	for _, path := range paths {
		code, _ := request(method, p.health, path)
		all = append(all, path+" "+code)
	}
	return strings.Join(all, ", ")
}

// methods returns each method's code of /healthz.
func (p *place) methods(methods ...string) string {
	var all []string
	for _, method := range methods {
		all = append(all, method+" "+p.answers(method, "/healthz"))
	}
	return strings.Join(all, ", ")
}

// told returns the names, labels and counts of the metrics of calls, without the times.
func told(text string) map[string]string {
	seen := map[string]string{}
	families := []string{}
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "# TYPE ") {
			families = append(families, strings.TrimPrefix(line, "# TYPE "))
		}
		if strings.HasPrefix(line, "csi_sidecar_operations_seconds_count") || strings.HasPrefix(line, "csi_sidecar_operations_seconds_bucket") {
			at := strings.LastIndex(line, " ")
			seen[line[:at]] = line[at+1:]
		}
	}
	sort.Strings(families)
	seen["families"] = strings.Join(families, "; ")
	return seen
}

var bucket = regexp.MustCompile(`^(.*)_bucket\{(.*),le="([^"]*)"\}$`)

func metrics(p *place) {
	driver := p.serveReady()
	defer driver.remove()
	p.livenessprobe("--http-endpoint="+p.health, "--metrics-path=/numbers")
	served(p.health, "/numbers")
	for _, b := range []behaviour{isReady, isReady, notReady, saysNone, fails(codes.Internal), fails(codes.FailedPrecondition), hangs} {
		driver.set(b)
		get(p.health, "/healthz")
	}
	driver.stop()
	get(p.health, "/healthz")
	code, text := request("GET", p.health, "/numbers")
	p.saw("code", code)
	p.saw("code of the usual path", get(p.health, "/metrics"))
	bounds := map[string][]string{}
	for name, value := range told(text) {
		if part := bucket.FindStringSubmatch(name); part != nil {
			bounds[part[2]] = append(bounds[part[2]], part[3])
		} else {
			p.saw(name, value)
		}
	}
	for labels, all := range bounds {
		sort.Strings(all)
		p.saw("bounds of "+labels, strings.Join(all, " "))
	}
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "# ") && strings.Contains(line, " csi_sidecar") {
			p.saw(strings.Join(strings.Fields(line)[:3], " "), line)
		}
	}
}

func separateMetrics(p *place) {
	defer p.serveReady().remove()
	other := freeAddress()
	_, port, _ := net.SplitHostPort(p.health)
	p.livenessprobe("--health-port="+port, "--metrics-address="+other)
	served(p.health, "/healthz")
	served(other, "/metrics")
	p.saw("/healthz", get(p.health, "/healthz"))
	p.saw("/metrics there", get(p.health, "/metrics"))
	p.saw("/metrics of its own address", get(other, "/metrics"))
	p.saw("/healthz of that address", get(other, "/healthz"))
}

func portAlone(p *place) {
	defer p.serveReady().remove()
	_, port, _ := net.SplitHostPort(p.health)
	program := p.livenessprobe("-health-port", port)
	served(p.health, "/healthz")
	p.saw("/healthz", get(p.health, "/healthz"))
	p.saw("/metrics", get(p.health, "/metrics"))
	p.saw("SIGTERM", program.signal(syscall.SIGTERM))
}

// lateProbedDriver shows what is served until the driver has returned its name, however late.
func lateProbedDriver(p *place) {
	driver := newDriver(p.driverSocket(), driverName)
	driver.info = slow(2 * time.Second)
	program := p.livenessprobe("--csi-address=unix://"+p.driverSocket(), "--http-endpoint="+p.health)
	time.Sleep(2 * time.Second)
	p.saw("before", program.exit(0)+", "+get(p.health, "/healthz"))
	driver.serve(isReady)
	defer driver.remove()
	time.Sleep(1200 * time.Millisecond)
	p.saw("asked", program.exit(0)+", "+get(p.health, "/healthz"))
	served(p.health, "/healthz")
	p.saw("after", program.exit(0)+", "+get(p.health, "/healthz"))
}

func namelessProbed(p *place) {
	for name, info := range map[string]behaviour{"an error": fails(codes.Internal), "an empty name": {}} {
		driver := newDriver(p.driverSocket(), "")
		driver.info = info
		driver.serve(isReady)
		p.saw(name+": livenessprobe", p.livenessprobe("--http-endpoint="+p.health).exit(20*time.Second))
		driver.remove()
	}
}

func probedAddressTaken(p *place) {
	defer p.serveReady().remove()
	listener := must(net.Listen("tcp", p.health))
	defer listener.Close()
	p.saw("livenessprobe", p.livenessprobe("--http-endpoint="+p.health).exit(20*time.Second))
	p.saw("livenessprobe, of metrics", p.livenessprobe("--health-port=0", "--metrics-address="+p.health).exit(20*time.Second))
}

func livenessprobeFlags(p *place) {
	for _, flags := range []string{"--help", "--nonsense", "--health-port=9809 --http-endpoint=:9810",
		"--metrics-address=:9809 --http-endpoint=:9810", "--probe-timeout=soon"} {
		p.saw("flags "+flags, p.start("flags", append([]string{p.programs.livenessprobe}, strings.Fields(flags)...)...).exit(5*time.Second))
	}
}

// defaultTimeout shows a probe without --probe-timeout.
func defaultTimeout(p *place) {
	driver := p.serveReady()
	defer driver.remove()
	p.start("livenessprobe", p.programs.livenessprobe, "--csi-address="+p.driverSocket(), "--http-endpoint="+p.health)
	served(p.health, "/healthz")
	for name, b := range map[string]behaviour{"2 s": slow(2 * time.Second), "never": hangs} {
		driver.set(b)
		since := time.Now()
		code := get(p.health, "/healthz")
		p.saw("the driver answers after "+name, fmt.Sprintf("%s after %.0f s", code, time.Since(since).Seconds()))
	}
}

// A flag in the help of Go's flag package, or in ours, where the default follows in the same line.
var (
	helpLine    = regexp.MustCompile(`^ +--?([a-z][a-zA-Z0-9_-]*)(?: [^ (]+)?(?: \(default (.*)\))?$`)
	defaultText = regexp.MustCompile(`\(default "?(.*?)"?\)$`)
	helpSection = regexp.MustCompile(`^Of (node-driver-registrar|livenessprobe);`)
)

// defaults records the flags of each program with their defaults, from the program's help.
func defaults(p *place) {
	for name, program := range map[string]string{"node-driver-registrar": p.programs.registrar, "livenessprobe": p.programs.livenessprobe} {
		help, _ := exec.Command(program, "--help").CombinedOutput()
		flag, section := "", name
		for _, line := range strings.Split(string(help), "\n") {
			if part := helpSection.FindStringSubmatch(line); part != nil {
				section = part[1]
			} else if strings.HasSuffix(line, ":") {
				section = name
			}
			part := helpLine.FindStringSubmatch(line)
			if part != nil && section == name {
				flag = name + " --" + part[1]
				p.saw(flag, shown(part[2]))
			} else if part != nil {
				flag = ""
			} else if part = defaultText.FindStringSubmatch(line); part != nil && flag != "" {
				p.saw(flag, shown(part[1]))
			}
		}
	}
}

// shown returns "0" for a type's zero value, because Go's flag package omits such a default.
func shown(value string) string {
	if value == "" || value == "false" || value == "0s" {
		return "0"
	}
	return value
}
