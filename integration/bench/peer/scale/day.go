package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"csi-proxy.example/integration/bench/peer/figures"
)

// A large node: so many pods start each minute, each runs so long, and so many others run all day,
// whose volumes are measured each second.
const (
	startsPerMinute = 500
	podRuns         = 12 * time.Second
	polledPods      = 100
	// So many pods that come and go are there at once. With more the node would be another one: where
	// the machine is too slow for the speed, pods start later.
	maxAlive = startsPerMinute * int64(podRuns) / int64(time.Minute) * 3 / 2
)

// How many points the plots have.
const intervals = 60

// What happened in a part of the day.
type interval struct {
	byRPC map[string]*histogram
	rss   []float64
}

// What the calls of a day took. Thread-safe.
type callLog struct {
	mutex     sync.Mutex
	begin     time.Time
	length    time.Duration
	intervals [intervals]interval
	failures  int
	errors    []string
}

func newCallLog(length time.Duration) *callLog {
	l := &callLog{begin: time.Now(), length: length}
	for i := range l.intervals {
		l.intervals[i].byRPC = map[string]*histogram{}
	}
	return l
}

// now is the part of the day that it is.
func (l *callLog) now() *interval {
	return &l.intervals[min(int(time.Since(l.begin)*intervals/l.length), intervals-1)]
}

func (l *callLog) add(rpc string, took time.Duration, err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	h := l.now().byRPC[rpc]
	if h == nil {
		h = &histogram{}
		l.now().byRPC[rpc] = h
	}
	h.add(float64(took.Nanoseconds()) / 1e3)
	if err != nil {
		l.failures++
		if len(l.errors) < 10 {
			l.errors = append(l.errors, err.Error())
		}
	}
}

func (l *callLog) addRSS(mib float64) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	i := l.now()
	i.rss = append(i.rss, mib)
}

// between is all that happened in some intervals: of one rpc, or of all for "".
func (l *callLog) between(first, last int, rpc string) *histogram {
	sum := &histogram{}
	for _, i := range l.intervals[first:last] {
		for name, h := range i.byRPC {
			if rpc == "" || rpc == name {
				sum.merge(h)
			}
		}
	}
	return sum
}

func (l *callLog) rss(first, last int) float64 {
	sum, count := 0.0, 0
	for _, i := range l.intervals[first:last] {
		for _, mib := range i.rss {
			sum += mib
			count++
		}
	}
	return sum / float64(max(count, 1))
}

// The part of a simulated day that is replayed, and by whom.
type day struct {
	node         *node
	lives, polls *clients
	log          *callLog
	speed        float64
	made         atomic.Int64
	alive        atomic.Int64
	done         atomic.Int64
}

func (d *day) realTime(simulated time.Duration) time.Duration {
	return time.Duration(float64(simulated) / d.speed)
}

// attach is what the cloud and the kubelet do before a driver is called.
func (d *day) attach(c *clients) (*pod, error) {
	n := int(d.made.Add(1))
	p := &pod{clients: c, log: d.log, name: volumeName(n), uid: podOf(n)}
	out, err := d.node.admin.call("AttachDisk", fmt.Sprintf(
		`{"choose_number": true, "disk": {"size_bytes": "%d", "serial_number": %q, "page83": "nvme.%s"}}`,
		diskBytes, p.name, p.name))
	if err != nil {
		return nil, err
	}
	p.number = uint32(out.Get(out.Descriptor().Fields().ByName("disk_number")).Uint())
	return p, d.eachFolder(p, "MakeDirectory")
}

// eachFolder has the kubelet make the directories around a pod's volume, or remove them.
func (d *day) eachFolder(p *pod, method string) error {
	pods := kubelet + `\pods\` + p.uid
	folders := []string{pods + `\volumes\kubernetes.io~csi\pvc`, pods + `\volumes\kubernetes.io~csi`,
		pods + `\volumes`, pods, parent(p.stagePath())}
	if method == "MakeDirectory" {
		folders = folders[:1]
	}
	for _, folder := range folders {
		if _, err := d.node.admin.call(method, fmt.Sprintf(`{"path": %q}`, folder)); err != nil {
			return fmt.Errorf("%s %s: %w", method, folder, err)
		}
	}
	return nil
}

func (d *day) detach(p *pod) error {
	if err := d.eachFolder(p, "RemoveFolder"); err != nil {
		return err
	}
	_, err := d.node.admin.call("DetachDisk", fmt.Sprintf(`{"disk_number": %d}`, p.number))
	return err
}

// A pod's life from the first call to the last.
func (d *day) life() error {
	p, err := d.attach(d.lives)
	if err != nil {
		return err
	}
	return steps(p.stage, p.publish, func() error { time.Sleep(d.realTime(podRuns)); return nil },
		p.unpublish, p.unstage, func() error { return d.detach(p) })
}

// Lives begin at their times, or later when there are enough already.
func (d *day) startLives(end time.Time, all *sync.WaitGroup) {
	each := d.realTime(time.Minute / startsPerMinute)
	for next := time.Now(); time.Now().Before(end) && next.Before(end); next = next.Add(each) {
		time.Sleep(time.Until(next))
		for d.alive.Load() >= maxAlive && time.Now().Before(end) {
			time.Sleep(time.Millisecond)
		}
		all.Add(1)
		d.alive.Add(1)
		go func() {
			defer all.Done()
			if err := d.life(); err != nil {
				d.log.add("a life", 0, err)
			}
			d.alive.Add(-1)
			d.done.Add(1)
		}()
	}
}

// poll measures a pod's volume as kubelet has gcp-compute-persistent-disk-csi-driver do it.
func (d *day) poll(p *pod, end time.Time, offset time.Duration) {
	each := d.realTime(time.Second)
	for next := time.Now().Add(offset); next.Before(end); next = next.Add(each) {
		time.Sleep(time.Until(next))
		// Failures are in the log.
		_ = steps(p.mounted(p.targetPath()), p.stats)
	}
}

func replayDay(program, descriptors, result string, minutes, speed float64) {
	run := figures.Describe(time.Duration(minutes*float64(time.Minute)), 1)
	run["client"], run["speed"] = "grpc-go "+figures.GRPCVersion(os.Args[0]), speed
	n := startNode(program, descriptors, scenario(0))
	defer n.stop()
	length := time.Duration(minutes * float64(time.Minute))
	d := &day{node: n, lives: n.connect(), polls: n.connect(), speed: speed, log: newCallLog(time.Hour)}
	var polled []*pod
	for range polledPods {
		p, err := d.attach(d.polls)
		figures.Must(err)
		figures.Must(steps(p.stage, p.publish))
		polled = append(polled, p)
	}
	// The day begins.
	d.log = newCallLog(length)
	end := d.log.begin.Add(length)
	cpuBefore := n.process.CPU()
	var all sync.WaitGroup
	for i, p := range polled {
		p.log = d.log
		all.Add(1)
		go func() {
			defer all.Done()
			d.poll(p, end, d.realTime(time.Second)*time.Duration(i)/polledPods)
		}()
	}
	stop := make(chan struct{})
	go d.watch(stop)
	d.startLives(end, &all)
	all.Wait()
	close(stop)
	seconds := time.Since(d.log.begin).Seconds()
	cpuSeconds := (n.process.CPU() - cpuBefore) / 1e6
	for _, p := range polled {
		p.log = newCallLog(time.Hour)
		figures.Must(steps(p.unpublish, p.unstage, func() error { return d.detach(p) }))
	}
	d.report(run, seconds, cpuSeconds, result)
	if d.log.failures != 0 {
		n.stop()
		log.Fatalf("%d calls FAILED: %q", d.log.failures, d.log.errors)
	}
}

// watch notes the memory and how it goes.
func (d *day) watch(stop chan struct{}) {
	told := 0
	for {
		select {
		case <-stop:
			return
		case <-time.After(min(time.Second, d.log.length/(2*intervals))):
		}
		d.log.addRSS(d.node.process.RSS())
		if minutes := int(time.Since(d.log.begin).Minutes()); minutes > told {
			told = minutes
			log.Printf("%d min: %d lives, %d pods, %.1f MiB", minutes, d.done.Load(), d.alive.Load()+polledPods,
				d.node.process.RSS())
		}
	}
}

const tenth = intervals / 10

func (d *day) report(run map[string]any, seconds, cpuSeconds float64, result string) {
	rpcs := map[string]bool{}
	for _, i := range d.log.intervals {
		for rpc := range i.byRPC {
			rpcs[rpc] = true
		}
	}
	var names []string
	for rpc := range rpcs {
		names = append(names, rpc)
	}
	slices.Sort(names)
	calls := d.log.between(0, intervals, "").count
	hours := d.log.length.Hours() * d.speed
	polls := d.log.between(0, intervals, "GetVolumeStats").count - int(d.done.Load())
	fmt.Printf("%.1f min at %gx: %.1f h of a node where %d pods start a minute and %d are polled each second\n",
		seconds/60, d.speed, hours, startsPerMinute, polledPods)
	fmt.Printf("%.0f pods a minute were started, and %.0f a second were polled\n", float64(d.done.Load())/hours/60,
		float64(polls)/hours/3600)
	fmt.Printf("%d lives, %d calls, %.0f a second, %d failed; %.0f us of CPU a call\n\n", d.done.Load(), calls,
		float64(calls)/seconds, d.log.failures, cpuSeconds*1e6/float64(calls))
	fmt.Print("| rpc | calls | p50, µs | p99, µs | p99 in the first tenth | in the last |\n|---|---|---|---|---|---|\n")
	type row struct {
		Calls     int       `json:"calls"`
		P50       float64   `json:"p50_us"`
		P99       float64   `json:"p99_us"`
		FirstP99  float64   `json:"p99_us_in_the_first_tenth"`
		LastP99   float64   `json:"p99_us_in_the_last_tenth"`
		Intervals []float64 `json:"p99_us_over_time"`
	}
	rows := map[string]row{}
	for _, rpc := range names {
		h := d.log.between(0, intervals, rpc)
		r := row{h.count, h.quantile(0.5), h.quantile(0.99), d.log.between(0, tenth, rpc).quantile(0.99),
			d.log.between(intervals-tenth, intervals, rpc).quantile(0.99), nil}
		for i := range intervals {
			r.Intervals = append(r.Intervals, d.log.between(i, i+1, rpc).quantile(0.99))
		}
		rows[rpc] = r
		fmt.Printf("| %s | %d | %.0f | %.0f | %.0f | %.0f |\n", rpc, r.Calls, r.P50, r.P99, r.FirstP99, r.LastP99)
	}
	first, last := d.log.rss(0, tenth), d.log.rss(intervals-tenth, intervals)
	middle := d.log.rss(intervals/2-tenth/2, intervals/2+tenth/2)
	fmt.Printf("\nRSS: %.1f MiB in the first tenth, %.1f in the middle, %.1f in the last\n", first, middle, last)
	figures.Conclude(run)
	run["lives"], run["calls"], run["failed"], run["rpcs"] = d.done.Load(), calls, d.log.failures, rows
	run["RSS in the first tenth, MiB"], run["RSS in the last tenth, MiB"] = first, last
	text, err := json.MarshalIndent(run, "", "  ")
	figures.Must(err)
	figures.Must(os.WriteFile(result+".json", append(text, '\n'), 0o644))
	d.writeData(names, result+".dat")
}

// writeData makes a line of each interval: its hour, the memory, p99 of all calls and of each rpc.
func (d *day) writeData(names []string, path string) {
	var out bytes.Buffer
	fmt.Fprint(&out, "hour RSS all")
	for _, rpc := range names {
		fmt.Fprintf(&out, " %q", rpc)
	}
	fmt.Fprintln(&out)
	for i := range intervals {
		hour := d.log.length.Hours() * d.speed * (float64(i) + 0.5) / intervals
		fmt.Fprintf(&out, "%.4f %.3f %.1f", hour, d.log.rss(i, i+1), d.log.between(i, i+1, "").quantile(0.99))
		for _, rpc := range names {
			fmt.Fprintf(&out, " %.1f", d.log.between(i, i+1, rpc).quantile(0.99))
		}
		fmt.Fprintln(&out)
	}
	figures.Must(os.WriteFile(path, out.Bytes(), 0o644))
}

// minutesAndSpeed reads the optional last arguments.
func minutesAndSpeed(arguments []string) (minutes, speed float64) {
	minutes, speed = 3, 5
	var err error
	if len(arguments) > 0 {
		minutes, err = strconv.ParseFloat(arguments[0], 64)
		figures.Must(err)
	}
	if len(arguments) > 1 {
		speed, err = strconv.ParseFloat(arguments[1], 64)
		figures.Must(err)
	}
	return minutes, speed
}
