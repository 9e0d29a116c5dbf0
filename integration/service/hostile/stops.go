package main

import (
	"context"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"csi-proxy.example/integration/drivers/steps"
)

// states are the states of a connection at the service's stop. Each function enters one and stays in it until
// the connection or the context ends.
var states = []func(ctx context.Context, r *raw){
	// Sends nothing.
	func(ctx context.Context, r *raw) { drain(r) },
	// Sends half a preface.
	func(ctx context.Context, r *raw) {
		r.out.WriteString("PRI * HTTP")
		r.out.Flush()
		drain(r)
	},
	// Sends a request that is not HTTP/2.
	func(ctx context.Context, r *raw) {
		r.out.WriteString("GET / HTTP/1.1\r\n\r\n")
		r.out.Flush()
		drain(r)
	},
	// Begins HTTP/2 without a call.
	func(ctx context.Context, r *raw) {
		r.begin()
		drain(r)
	},
	// Half a header block; then half a request.
	func(ctx context.Context, r *raw) {
		r.begin()
		r.headers(r.fields(pathExists), false, false)
		r.out.Flush()
		drain(r)
	},
	func(ctx context.Context, r *raw) {
		r.begin()
		r.headers(r.fields(pathExists), true, false)
		r.WriteData(r.stream, false, message(root)[:9])
		r.out.Flush()
		drain(r)
	},
	// Running calls; then calls that are reset.
	func(ctx context.Context, r *raw) {
		r.begin()
		for i := 0; i < 8; i++ {
			r.call(mkdir, root+`\slow`)
		}
		r.out.Flush()
		drain(r)
	},
	func(ctx context.Context, r *raw) {
		r.begin()
		go drain(r)
		for ctx.Err() == nil {
			r.call(mkdir, root+`\slow`)
			r.WriteRSTStream(r.stream, 8)
			if r.out.Flush() != nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	},
	// Calls without pause whose answers are read; then calls whose answers are not read and fill the pipe. The
	// latter are limited to 4,000, because on Linux nothing limits them ("readers that do not read") and a stop
	// that frees a gigabyte is late.
	func(ctx context.Context, r *raw) {
		r.begin()
		go drain(r)
		for r.call(pathExists, root) == nil && r.out.Flush() == nil {
			time.Sleep(time.Millisecond)
		}
	},
	func(ctx context.Context, r *raw) {
		r.begin()
		for i := 0; i < 4000 && r.call(pathExists, root) == nil; i++ {
		}
		r.out.Flush()
		<-ctx.Done()
	},
	// PINGs; then a connection that closes immediately.
	func(ctx context.Context, r *raw) {
		r.begin()
		go drain(r)
		for r.WritePing(false, [8]byte{}) == nil && r.out.Flush() == nil {
			time.Sleep(time.Millisecond)
		}
	},
	func(ctx context.Context, r *raw) {
		r.begin()
		r.call(pathExists, root)
		r.out.Flush()
	},
}

func drain(r *raw) { io.Copy(io.Discard, r.Conn) }

// serves matches the log line in which a service reports the number of its pipes.
var serves = regexp.MustCompile(` serves (\d+) pipes`)

// serving waits until the service has opened all pipes and returns their number.
func serving(log string) (string, error) {
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		text, _ := os.ReadFile(log)
		if found := serves.FindSubmatch(text); found != nil {
			return string(found[1]), nil
		}
	}
	return "", fmt.Errorf("it did not start: see %s", log)
}

// exitCallStuck is the exit code of the service's watchdog when a stop takes five seconds longer than calls may
// take (server/supervision/supervisor.h).
const exitCallStuck = 3

// stops stops the service repeatedly, up to 200 ms after 64 connections began to enter all states. Each time
// the service must end in time with code 0 and without a sanitizer's report, and the next one must open all
// pipes.
func stops(o options) (bool, error) {
	scenario, log := filepath.Join(o.directory, "stops.textproto"), filepath.Join(o.directory, "stops.log")
	slow := "fault { operation: 'filesystem.Mkdir' latency_ms: 120000 }\n"
	if err := os.WriteFile(scenario, []byte(slow+node), 0o644); err != nil {
		return false, err
	}
	service, err := newStoppable(o.service, log, append([]string{"--host=simulated", "--scenario=" + scenario,
		"--stop-grace-period=500ms", "-logtostderr=false", "-log_file=" + log}, steps.ServiceFlags...))
	if err != nil {
		return false, err
	}
	defer service.remove()
	names, began, slowest, late := "", time.Now(), time.Duration(0), 0
	var total counters
	for round := 1; round <= o.stops; round++ {
		if err := os.WriteFile(log, nil, 0o644); err != nil {
			return false, err
		}
		if err := service.start(); err != nil {
			return false, fmt.Errorf("start %d: %w", round, err)
		}
		taken, err := serving(log)
		if err != nil {
			return false, fmt.Errorf("start %d: %w", round, err)
		}
		if names == "" {
			names = taken
		}
		ctx, cancel := context.WithCancel(context.Background())
		var all sync.WaitGroup
		for i := 0; i < 64; i++ {
			all.Add(1)
			go func() {
				defer all.Done()
				for ; ctx.Err() == nil; time.Sleep(time.Millisecond) {
					if r, err := dial(ctx, &total); err == nil {
						states[i%len(states)](ctx, r)
						r.Close()
					}
				}
			}()
		}
		time.Sleep(time.Duration(rand.Intn(200)) * time.Millisecond)
		stopped := time.Now()
		code, err := service.stop()
		slowest = max(slowest, time.Since(stopped))
		cancel()
		all.Wait()
		text, _ := os.ReadFile(log)
		if o.short && code == exitCallStuck {
			// Not a finding on a busy machine.
			code = 0
			late++
		}
		switch {
		case err != nil:
			return false, fmt.Errorf("stop %d: %w", round, err)
		case code != 0:
			err = fmt.Errorf("exit code %d", code)
		case taken != names:
			err = fmt.Errorf("it serves %s pipes, %s before", taken, names)
		case strings.Contains(string(text), "Sanitizer") || strings.Contains(string(text), "runtime error"):
			err = fmt.Errorf("a sanitizer's report")
		}
		if err != nil {
			fmt.Printf("FAILED in round %d: %v; see %s\n", round, err, log)
			return false, nil
		}
	}
	fmt.Printf("%d stops in %v under %d connections, all but %d with exit code 0; %s names each time; the slowest took %v\n", o.stops,
		time.Since(began).Round(time.Second), total.connections.Load(), late, names, slowest.Round(time.Millisecond))
	return true, nil
}
