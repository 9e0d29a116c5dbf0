package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"csi-proxy.example/integration/drivers/steps"
	"google.golang.org/grpc/codes"
)

// The limits of an attack's effect on others.
const (
	memoryLimit = 1.5
	slowerLimit = 3
	// Calls below this are quick enough even if they are three times slower than before: the scheduler alone
	// causes that on two busy cores.
	quick = 20 * time.Millisecond
	// Extra memory allowed in a short run, in which the machine may be busy with other work.
	shortSlack = 64 << 10 // KiB
	// The service is killed at this size, to protect the machine.
	tooMuch = 4 << 20 // KiB
)

// result is what was measured of an attack.
type result struct {
	total                          summary
	before, during, between, after phase
	// Resident memory in KiB before the attack, at its peak, and after the attack.
	memory, peak, left int
	// The most threads and descriptors during the attack, and the limit of descriptors.
	threads, descriptors, limit int
	// The CPU time that the attack cost, and all that the service used during it, in percent of one processor.
	cpu        time.Duration
	cpuPercent int
	// The number of descriptors that the attack left open.
	kept int
	// The number of honest clients that got no answer during the attack.
	starved int
	gone    bool
}

func allAttacks(service *steps.Service, o options) (bool, error) {
	fmt.Println("| attack | connections, ended | sent, MB | answers | honest p99, ms | RSS, MB | memory per byte | CPU per connection, us | verdict |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|")
	passed := true
	for _, attack := range attacks {
		if (o.only != "" && o.only != attack.name) || (o.short && !attack.short) {
			continue
		}
		r, err := measure(service, node, eight(), attack, o)
		if err != nil {
			return false, fmt.Errorf("%s: %w", attack.name, err)
		}
		wrong := r.wrong(attack, o)
		verdict := "holds"
		if wrong != "" {
			verdict = "FAILED: " + wrong
			passed = false
		}
		fmt.Printf("| %s | %v | %s |\n", attack.name, r, verdict)
	}
	return passed, nil
}

func (r *result) String() string {
	var answers []string
	for code, times := range r.total.Answers {
		answers = append(answers, fmt.Sprintf("%d %s", times, code))
	}
	megabytes := func(kib int) int { return (kib + 512) >> 10 }
	per := func(all, each int64) string {
		if each == 0 {
			return ""
		}
		return fmt.Sprint(all / each)
	}
	return fmt.Sprintf("%d, %d | %.1f | %s | %v, %v, %v | %d, %d, %d | %s | %s", r.total.Connections, r.total.Ended,
		float64(r.total.Bytes)/1e6, strings.Join(answers, ", "), r.before, r.during, r.after,
		megabytes(r.memory), megabytes(r.peak), megabytes(r.left),
		per(int64(r.peak-r.memory)<<10, r.total.Bytes), per(r.cpu.Microseconds(), r.total.Connections))
}

// wrong describes the harm that an attack did to others; empty if it did none.
func (r *result) wrong(attack attack, o options) string {
	var reasons []string
	if refused := slices.Concat(r.before.refused, r.during.refused, r.between.refused, r.after.refused); len(refused) > 0 {
		reasons = append(reasons, fmt.Sprintf("%d honest calls refused: %v", len(refused), refused[0]))
	}
	if r.starved > 0 {
		reasons = append(reasons, fmt.Sprintf("%d honest clients were not answered", r.starved))
	}
	limit := memoryLimit * float64(r.memory)
	if o.short {
		limit += shortSlack
	}
	if float64(r.peak) > limit {
		reasons = append(reasons, fmt.Sprintf("memory grew to %.1f times", float64(r.peak)/float64(r.memory)))
	}
	for _, phase := range []phase{r.during, r.after} {
		if !o.short && phase.p99 > slowerLimit*r.before.p99 && phase.p99 > quick {
			reasons = append(reasons, fmt.Sprintf("p99 grew to %.1f times", float64(phase.p99)/float64(r.before.p99)))
		}
	}
	if attack.answer != codes.OK && (r.total.Answers[attack.answer.String()] == 0 || r.total.Answers[codes.OK.String()] > 0) {
		reasons = append(reasons, fmt.Sprintf("calls were not answered %v", attack.answer))
	}
	if r.kept > 0 {
		reasons = append(reasons, fmt.Sprintf("%d descriptors stay open", r.kept))
	}
	if r.gone {
		reason := "the service is gone"
		if r.peak > tooMuch {
			reason = "the service was ended here for its memory"
		}
		reasons = append(reasons, reason)
	}
	return strings.Join(reasons, "; ")
}

// measure runs an attack against a new service, which these honest clients call, so that attacks do not influence each
// other. For the table Bounds, measure ends with the attack.
func measure(service *steps.Service, node string, honest []client, attack attack, o options) (*result, error) {
	if err := service.Start(node); err != nil {
		return nil, err
	}
	defer service.Kill()
	process, err := findProcess(o.service, o.directory)
	if err != nil {
		return nil, err
	}
	clients, err := startHonest(honest, attack.redials)
	if err != nil {
		return nil, err
	}
	defer clients.end()
	while := 3 * time.Second
	if o.short {
		while = time.Second
	}
	// Waits until honest clients have caused all their connections, threads and caches.
	time.Sleep(while)
	clients.take()
	idle, err := process.cpu()
	if err != nil {
		return nil, err
	}
	time.Sleep(max(while, time.Duration(o.bounds)*time.Second/3))
	r := &result{before: clients.take(), limit: process.descriptorLimit()}
	if r.memory, err = process.status("VmRSS"); err != nil {
		return nil, err
	}
	busy, err := process.cpu()
	if err != nil {
		return nil, err
	}
	descriptors := process.descriptors()
	if attack.fault != nil {
		if err := service.Call("InjectFault", map[string]any{"fault": attack.fault}); err != nil {
			return nil, err
		}
	}

	attackers, err := startAttackers(attack, o)
	if err != nil {
		return nil, err
	}
	// Drops the time in which the attackers started, whose cost is not the service's.
	clients.take()
	began, err := process.cpu()
	if err != nil {
		return nil, err
	}
	for _, a := range attackers {
		fmt.Fprintln(a.input)
	}
	start := time.Now()
	full := start.Add(time.Duration(o.secondsOf(attack)) * time.Second)
	r.peak = r.memory
	// Continues until every honest client has had another answer, at most for patience.
	for now := start; now.Before(full.Add(patience)) && !r.gone; now = time.Now() {
		if r.starved = clients.unanswered(full); now.After(full) && (r.starved == 0 || o.bounds > 0) {
			break
		}
		time.Sleep(50 * time.Millisecond)
		resident, err := process.status("VmRSS")
		threads, _ := process.status("Threads")
		r.peak, r.threads = max(r.peak, resident), max(r.threads, threads)
		r.descriptors = max(r.descriptors, process.descriptors())
		if r.gone = err != nil; r.peak > tooMuch {
			service.Kill()
		}
	}
	r.during = clients.take()
	lasted := time.Since(start)
	if used, err := process.cpu(); err == nil {
		r.cpuPercent = int(100 * (used - began) / lasted)
		// Subtracts the CPU time of the honest clients' calls.
		r.cpu = max(0, used-began-time.Duration(float64(busy-idle)*lasted.Seconds()/while.Seconds()))
	}
	if o.bounds > 0 {
		// The table has no figures of the attackers, and hundreds of attackers would take long to report theirs.
		service.Kill()
		for _, a := range attackers {
			a.command.Process.Kill()
		}
		for _, a := range attackers {
			a.command.Wait()
			a.log.Close()
		}
		return r, nil
	}
	for _, a := range attackers {
		if err := a.end(&r.total); err != nil {
			return nil, err
		}
	}
	if r.gone {
		return r, nil
	}
	if attack.fault != nil {
		if err := service.Call("ClearFaults", struct{}{}); err != nil {
			return nil, err
		}
	}
	time.Sleep(while * 2 / 3)
	r.between = clients.take()
	time.Sleep(while)
	r.after = clients.take()
	if r.left, err = process.status("VmRSS"); err != nil {
		r.gone = true
		return r, nil
	}
	// Waits, because closing takes time. Allows a few descriptors more, because honest clients may
	// redial.
	const few = 8
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if r.kept = max(0, process.descriptors()-descriptors-few); r.kept == 0 {
			break
		}
	}
	// Ends the clients after the answers to their running calls.
	clients.end()
	r.after.refused = append(r.after.refused, clients.take().refused...)
	return r, nil
}
