// Calls a server as drivers do, with several concurrent callers, and prints the times as JSON.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	v1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
)

// call is the work that one caller repeats, on its own or a shared connection.
type call func() error

// patience is the time within which a server must give its first answer.
const patience = 30 * time.Second

func main() {
	length := flag.Duration("length", 3*time.Second, "how long")
	count := flag.Int64("calls", 0, "instead of a length: how many calls")
	first := flag.Bool("first", false, "only wait for the first answer")
	connect := connector()
	flag.Parse()
	if *first {
		if err := await(connect); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	calls, closeAll, err := connect()
	if err == nil {
		defer closeAll()
		err = run(calls, *length, *count)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func pathExists(client v1.FilesystemClient) call {
	return func() error {
		_, err := client.PathExists(context.Background(), &v1.PathExistsRequest{Path: `C:\var\lib\kubelet`})
		return err
	}
}

func await(connect func() ([]call, func(), error)) error {
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		calls, closeAll, err := connect()
		if err == nil {
			err = calls[0]()
			closeAll()
		}
		if err == nil || time.Since(begin) > patience {
			return err
		}
	}
}

// run repeats the calls for length, or count times if count is not 0.
func run(calls []call, length time.Duration, count int64) error {
	times := make([][]float64, len(calls))
	errs := make([]error, len(calls))
	left := count
	var ready, done sync.WaitGroup
	begin := make(chan struct{})
	ready.Add(len(calls))
	done.Add(len(calls))
	for i := range calls {
		go func(i int) {
			defer done.Done()
			errs[i] = calls[i]()
			ready.Done()
			if errs[i] != nil {
				return
			}
			<-begin
			end := time.Now().Add(length)
			more := func() bool { return time.Now().Before(end) }
			if count > 0 {
				more = func() bool { return atomic.AddInt64(&left, -1) >= 0 }
			}
			for more() {
				start := time.Now()
				if errs[i] = calls[i](); errs[i] != nil {
					return
				}
				times[i] = append(times[i], float64(time.Since(start).Nanoseconds())/1e3)
			}
		}(i)
	}
	ready.Wait()
	start := time.Now()
	close(begin)
	done.Wait()
	seconds := time.Since(start).Seconds()
	var all []float64
	for i := range times {
		if errs[i] != nil {
			return errs[i]
		}
		all = append(all, times[i]...)
	}
	sort.Float64s(all)
	return json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"calls": float64(len(all)), "calls_per_second": float64(len(all)) / seconds,
		"p50_us": all[len(all)/2], "p99_us": all[len(all)*99/100],
	})
}
