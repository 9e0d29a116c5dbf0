// Calls filesystem v1 PathExists from several callers, each with a connection of its own, as drivers
// do, and prints what it took as JSON.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sort"
	"sync"
	"time"

	v1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	client "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1"
)

func main() {
	callers := flag.Int("callers", 1, "how many at once")
	length := flag.Duration("length", 3*time.Second, "how long")
	first := flag.Bool("first", false, "only wait for the first answer")
	flag.Parse()
	if err := run(*callers, *length, *first); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func call(c *client.Client) error {
	_, err := c.PathExists(context.Background(), &v1.PathExistsRequest{Path: `C:\var\lib\kubelet`})
	return err
}

func run(callers int, length time.Duration, first bool) error {
	if first {
		for {
			if c, err := client.NewClient(); err == nil {
				defer c.Close()
				return call(c)
			}
			time.Sleep(time.Millisecond)
		}
	}
	times := make([][]float64, callers)
	errs := make([]error, callers)
	var ready, done sync.WaitGroup
	begin := make(chan struct{})
	ready.Add(callers)
	done.Add(callers)
	for i := 0; i < callers; i++ {
		go func(i int) {
			defer done.Done()
			c, err := client.NewClient()
			if err == nil {
				defer c.Close()
				err = call(c)
			}
			errs[i] = err
			ready.Done()
			if err != nil {
				return
			}
			<-begin
			for end := time.Now().Add(length); time.Now().Before(end); {
				start := time.Now()
				if errs[i] = call(c); errs[i] != nil {
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
