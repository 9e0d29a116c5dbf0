package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"
)

// A way to run sidecars: each of its processes, and whether it registers, probes or both.
type arrangement struct {
	name      string
	processes []func(p *place) []string
	registers bool
	probes    bool
}

// One figure of a run; lower is better.
type figures map[string]float64

// Memory and start-up of upstream's two programs and this project's, in turns; then, all at once,
// what they use of the processor while nobody asks anything.
func bench(arguments []string) int {
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	upstream := flags.String("upstream", "", "directory of upstream's programs")
	ours := flags.String("ours", "", "directory of this project's, under the same names")
	turns := flags.Int("turns", 5, "")
	idle := flags.Duration("idle", time.Minute, "how long they are left alone")
	out := flags.String("out", "", "a file for every figure")
	t := &trial{}
	flags.StringVar(&t.logs, "logs", "", "where the logs go")
	flags.Parse(arguments)
	must(0, os.MkdirAll(t.logs, 0o755))

	registrar := func(program string) func(*place) []string {
		return func(p *place) []string {
			return []string{program, "--csi-address=" + p.driverSocket(), "--kubelet-registration-path=" + p.driverSocket(),
				"--plugin-registration-path=" + p.registrations(), "--http-endpoint=" + p.other}
		}
	}
	livenessprobe := func(program string) func(*place) []string {
		return func(p *place) []string {
			return []string{program, "--csi-address=" + p.driverSocket(), "--http-endpoint=" + p.health}
		}
	}
	u, o := programsIn("upstream", *upstream), programsIn("ours", *ours)
	together := func(p *place) []string {
		return []string{*ours + "/csi-node-sidecars", "--sidecars=node-driver-registrar,livenessprobe",
			"--csi-address=" + p.driverSocket(), "--http-endpoint=" + p.health,
			"--node-driver-registrar-kubelet-registration-path=" + p.driverSocket(),
			"--node-driver-registrar-plugin-registration-path=" + p.registrations()}
	}
	type list = []func(*place) []string
	arrangements := []arrangement{
		{"upstream: registrar", list{registrar(u.registrar)}, true, false},
		{"upstream: livenessprobe", list{livenessprobe(u.livenessprobe)}, false, true},
		{"upstream: both", list{registrar(u.registrar), livenessprobe(u.livenessprobe)}, true, true},
		{"ours: registrar", list{registrar(o.registrar)}, true, false},
		{"ours: livenessprobe", list{livenessprobe(o.livenessprobe)}, false, true},
		{"ours: both", list{together}, true, true},
	}

	results := map[string]map[string][]float64{}
	add := func(name string, some figures) {
		for figure, value := range some {
			if results[figure] == nil {
				results[figure] = map[string][]float64{}
			}
			results[figure][name] = append(results[figure][name], value)
		}
	}
	for turn := range *turns {
		for i := range arrangements {
			// Each is first as often as the others.
			a := arrangements[(i+turn)%len(arrangements)]
			add(a.name, t.measure(a))
		}
	}
	for name, some := range t.atRest(arrangements, *idle) {
		add(name, some)
	}
	printTable(arrangements, results)
	if *out != "" {
		must(0, os.WriteFile(*out, must(json.MarshalIndent(results, "", " ")), 0o644))
	}
	return 0
}

func (t *trial) newPlace(a arrangement) *place {
	p := &place{trial: t, programs: programs{name: "bench"}, facts: newFacts(), name: a.name,
		dir: newDirectory(), health: freeAddress(), other: freeAddress()}
	must(0, os.Mkdir(p.registrations(), 0o755))
	must(0, os.Mkdir(p.dir+"/d", 0o755))
	return p
}

// The driver is in this process and in Go, so that it shares no library with the measured programs.
func (p *place) benchDriver() *driver {
	d := newDriver(p.driverSocket(), driverName)
	d.serve(always(isReady))
	return d
}

// Starts the arrangement before a driver that is there already, until it does all that it does.
func (p *place) bring(a arrangement) ([]*process, time.Duration) {
	since := time.Now()
	running := []*process{}
	for _, argv := range a.processes {
		running = append(running, p.start("sidecar", argv(p)...))
	}
	up := func() bool {
		if a.registers {
			if !listens(p.registrationSocket()) {
				return false
			}
			if _, err := callBytes(p.registrationSocket(), getInfo, nil, time.Second); err != nil {
				return false
			}
		}
		return !a.probes || get(p.health, "/healthz") == "200"
	}
	for !up() {
		if time.Since(since) > 20*time.Second {
			panic(a.name + " does not start")
		}
		time.Sleep(500 * time.Microsecond)
	}
	return running, time.Since(since)
}

func (t *trial) measure(a arrangement) figures {
	p := t.newPlace(a)
	defer p.end()
	defer p.benchDriver().remove()
	running, took := p.bring(a)
	if a.registers {
		must(callBytes(p.registrationSocket(), notify, []byte("\x08\x01"), time.Second))
	}
	time.Sleep(time.Second)
	some := figures{"start-up, ms": float64(took.Microseconds()) / 1000}
	memory := func(when string) {
		for _, one := range running {
			r := one.resources()
			some["RSS "+when+", MiB"] += float64(r.kib) / 1024
			some["Pss "+when+", MiB"] += float64(r.pss) / 1024
			some["own memory "+when+", MiB"] += float64(r.own) / 1024
			some["threads "+when] += float64(r.threads)
		}
	}
	memory("idle")
	address := p.health
	if !a.probes {
		address = p.other
	}
	for range 100 {
		if code := get(address, "/healthz"); code != "200" {
			panic(a.name + ": /healthz is " + code)
		}
	}
	time.Sleep(time.Second)
	memory("after 100 probes")
	return some
}

// Clock ticks from /proc/PID/stat, by 10 ms, and the nanoseconds of all threads.
func (p *process) processorTime() (ticks float64, milliseconds float64) {
	text := string(must(os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid()))))
	fields := strings.Fields(text[strings.LastIndex(text, ")")+1:])
	for _, field := range fields[11:13] {
		ticks += must(strconv.ParseFloat(field, 64))
	}
	tasks := must(os.ReadDir(fmt.Sprintf("/proc/%d/task", p.pid())))
	for _, task := range tasks {
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", p.pid(), task.Name())); err == nil {
			milliseconds += must(strconv.ParseFloat(strings.Fields(string(text))[0], 64)) / 1e6
		}
	}
	return ticks, milliseconds
}

func (t *trial) atRest(arrangements []arrangement, idle time.Duration) map[string]figures {
	running := map[string][]*process{}
	ticks, exact := map[string]float64{}, map[string]float64{}
	for _, a := range arrangements {
		p := t.newPlace(a)
		defer p.end()
		defer p.benchDriver().remove()
		running[a.name], _ = p.bring(a)
	}
	time.Sleep(3 * time.Second)
	look := func(sign float64) {
		for name, all := range running {
			for _, one := range all {
				t, m := one.processorTime()
				ticks[name] += sign * t
				exact[name] += sign * m
			}
		}
	}
	look(-1)
	time.Sleep(idle)
	look(1)
	some := map[string]figures{}
	for name := range running {
		some[name] = figures{
			fmt.Sprintf("CPU idle, ms in %.0f s", idle.Seconds()):        ticks[name] * 10,
			fmt.Sprintf("CPU idle, exact, ms in %.0f s", idle.Seconds()): exact[name]}
	}
	return some
}

func median(values []float64) float64 {
	sorted := append([]float64{}, values...)
	sort.Float64s(sorted)
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)/2]
}

func printTable(arrangements []arrangement, results map[string]map[string][]float64) {
	fmt.Print("|")
	for _, a := range arrangements {
		fmt.Printf(" | %s", a.name)
	}
	fmt.Println(" | both, ratio |")
	fmt.Println(strings.Repeat("|---", len(arrangements)+2) + "|")
	names := []string{}
	for name := range results {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Printf("| %s", name)
		for _, a := range arrangements {
			fmt.Printf(" | %.2f", median(results[name][a.name]))
		}
		fmt.Printf(" | %.2f |\n", median(results[name]["ours: both"])/median(results[name]["upstream: both"]))
	}
}
