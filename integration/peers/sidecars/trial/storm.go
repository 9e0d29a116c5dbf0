package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
)

// Probes of a driver that is now ready, now slow, hung, dying or gone, several at once. Each answer
// is the right one, whatever the driver does, and comes within the timeout of a probe; in the end
// the process has as much memory, as many files and threads as at the beginning.
func storm(arguments []string) int {
	flags := flag.NewFlagSet("storm", flag.ExitOnError)
	program := flags.String("program", "", "livenessprobe")
	count := flags.Int("probes", 2000, "")
	settled := flags.Int("settled", 500, "probes after which memory is looked at first")
	seed := flags.Uint64("seed", 1, "")
	atOnce := flags.Int("at-once", 16, "probes at once, at most")
	timeout := flags.Duration("probe-timeout", 300*time.Millisecond, "")
	margin := flags.Duration("margin", 500*time.Millisecond, "how much later than its timeout an answer may be")
	growth := flags.Int("growth", 2048, "KiB that it may grow, as what threads once had stays with malloc")
	log := flags.String("log", "/dev/stderr", "")
	flags.Parse(arguments)
	*settled = min(*settled, *count/2)

	c := &checks{}
	probed := c.probed("storm", *program, *log, isReady, "--probe-timeout="+timeout.String())
	defer probed.end()

	s := &weather{random: rand.New(rand.NewPCG(*seed, 0)), driver: probed.driver, timeout: *timeout, address: probed.address}
	var first resources
	memory := []string{}
	for s.done < *count {
		s.phase(min(1+s.random.IntN(*atOnce), *count-s.done))
		if tenth := *count * (len(memory) + 1) / 10; s.done >= tenth {
			memory = append(memory, strconv.Itoa(probed.resources().kib))
		}
		if first == (resources{}) && s.done >= *settled {
			first = probed.settle()
		}
	}
	last := probed.settle()
	c.that("storm: every answer is right", len(s.wrong) == 0, "%d of %d are not: %s", len(s.wrong), s.done, strings.Join(s.wrong[:min(len(s.wrong), 20)], "; "))
	c.that("storm: every answer is in time", s.latest <= *timeout+*margin, "one took %v", s.latest)
	c.that("storm: memory", last.kib <= first.kib+*growth, "%d KiB, after %d probes it was %d", last.kib, *settled, first.kib)
	c.that("storm: open files", last.files <= first.files, "%d, after %d probes it was %d", last.files, *settled, first.files)
	c.that("storm: threads", last.threads <= first.threads+2, "%d, after %d probes it was %d", last.threads, *settled, first.threads)
	probed.driver.serve(always(isReady))
	c.that("storm: it is well in the end", get(probed.address, "/healthz") == "200", "it is not")
	ended := probed.signal(syscall.SIGTERM)
	c.that("storm: SIGTERM", ended == "exit 0" || ended == "terminated", "%s", ended)
	fmt.Printf("%d probes (%d healthy), seed %d, at most %d at once; latest %v of %v; RSS %d -> %d KiB, files %d -> %d, threads %d -> %d\n",
		s.done, s.healthy, *seed, *atOnce, s.latest.Round(time.Millisecond), *timeout, first.kib, last.kib,
		first.files, last.files, first.threads, last.threads)
	fmt.Println("RSS after each tenth, KiB:", strings.Join(memory, " "))
	return c.end("storm")
}

type weather struct {
	random  *rand.Rand
	driver  *driver
	timeout time.Duration
	address string

	done, healthy int
	latest        time.Duration
	wrong         []string
}

// any chooses a behaviour for one probe.
func (w *weather) any() behaviour {
	switch w.random.IntN(9) {
	case 0, 1:
		return isReady
	case 2:
		return saysNone
	case 3:
		return notReady
	case 4:
		return hangs
	case 5:
		return slow(w.timeout / 6)
	case 6:
		return slow(4 * w.timeout)
	case 7:
		return dies
	}
	return fails(codes.Code(1 + w.random.IntN(16)))
}

func (b behaviour) healthy(timeout time.Duration) bool {
	return !b.hangs && !b.dies && b.code == codes.OK && b.after < timeout && (b.ready == nil || *b.ready)
}

// Some probes at once. Either each meets something else, and as many are healthy as the driver has
// answered so; or the driver's socket is not there for them, and none is; or the driver ends while
// they are under way, and those it has answered are.
func (w *weather) phase(count int) {
	var lock sync.Mutex
	wanted, exact, name := 0, true, "mixed"
	switch kind := w.random.IntN(12); kind {
	case 0:
		name = "dead"
		w.driver.stop()
	case 1:
		name = "gone"
		w.driver.remove()
	case 2:
		name = "silent"
		w.driver.listenRaw("", false)
	case 3:
		name = "not HTTP/2"
		w.driver.listenRaw("nonsense\r\n", w.random.IntN(2) == 0)
	case 4:
		name = "dying"
		exact = false
		w.driver.serve(always(slow(w.timeout / 3)))
	default:
		all := make([]behaviour, count)
		for i := range all {
			all[i] = w.any()
			if all[i].healthy(w.timeout) {
				wanted++
			}
		}
		next := 0
		w.driver.serve(func() behaviour {
			lock.Lock()
			defer lock.Unlock()
			next++
			return all[(next-1)%len(all)]
		})
	}
	before := w.driver.healthy.Load()
	codes := make(chan string, count)
	for range count {
		go func() {
			since := time.Now()
			code := get(w.address, "/healthz")
			took := time.Since(since)
			lock.Lock()
			w.latest = max(w.latest, took)
			lock.Unlock()
			codes <- code
		}()
	}
	if name == "dying" {
		time.Sleep(time.Duration(w.random.Int64N(int64(w.timeout / 2))))
		w.driver.stop()
	}
	healthy := 0
	for range count {
		switch code := <-codes; code {
		case "200":
			healthy++
		case "500":
		default:
			w.wrong = append(w.wrong, name+": "+code)
		}
	}
	if exact && healthy != wanted {
		w.wrong = append(w.wrong, fmt.Sprintf("%s, %d at once: %d healthy, not %d", name, count, healthy, wanted))
	}
	if answered := int(w.driver.healthy.Load() - before); !exact && healthy > answered {
		w.wrong = append(w.wrong, fmt.Sprintf("%s: %d healthy, but the driver has answered %d", name, healthy, answered))
	}
	w.done += count
	w.healthy += healthy
}

// Memory in KiB: all of it, with a share of what others have too, and its own alone.
type resources struct{ kib, pss, own, files, threads int }

// The number after a name in one of /proc's files.
func (p *process) number(file, name string) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.pid(), file))
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(text), "\n") {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == name+":" {
			number, _ := strconv.Atoi(fields[1])
			return number
		}
	}
	return 0
}

func (p *process) resources() resources {
	files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.pid()))
	return resources{kib: p.number("status", "VmRSS"), pss: p.number("smaps_rollup", "Pss"),
		own:   p.number("smaps_rollup", "Private_Clean") + p.number("smaps_rollup", "Private_Dirty"),
		files: len(files), threads: p.number("status", "Threads")}
}

// Once what a call has left has gone.
func (p *process) settle() resources {
	time.Sleep(2 * time.Second)
	return p.resources()
}
