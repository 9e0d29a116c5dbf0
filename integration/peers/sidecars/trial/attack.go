package main

import (
	"flag"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// Each attack reaches the address of /healthz or /metrics, sends its text and keeps the connection
// open.
var attacks = []struct {
	name string
	play func(c net.Conn, path string)
}{
	{"silent", func(net.Conn, string) {}},
	{"whole requests", func(c net.Conn, path string) { c.Write([]byte("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n")) }},
	{"half a request", func(c net.Conn, path string) { c.Write([]byte("GET " + path + " HTTP/1.1\r\nHost: a\r\n")) }},
	{"slow", func(c net.Conn, path string) {
		for _, letter := range []byte("GET " + path + " HTTP/1.1\r\nX: " + strings.Repeat("x", 1000)) {
			if _, err := c.Write([]byte{letter}); err != nil {
				return
			}
			time.Sleep(200 * time.Millisecond)
		}
	}},
	{"half a body", func(c net.Conn, path string) {
		c.Write([]byte("POST " + path + " HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nx"))
	}},
	{"unread answers", func(c net.Conn, _ string) {
		c.Write([]byte(strings.Repeat("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", 1000)))
	}},
	{"endless header", func(c net.Conn, _ string) {
		for range 64 {
			if _, err := c.Write([]byte("X: " + strings.Repeat("x", 16000) + "\r\n")); err != nil {
				return
			}
		}
	}},
}

// Connections of each attack, `rate` of them a second, while a kubelet asks for the health of a
// driver that takes a while to tell, or Prometheus for the service's metrics: what it is answered,
// and how late, and what the process comes to need.
func attack(arguments []string) int {
	flags := flag.NewFlagSet("attack", flag.ExitOnError)
	program := flags.String("program", "", "livenessprobe")
	proxy := flags.String("proxy", "", "csi-proxy, in its place")
	rate := flags.Int("rate", 100, "connections a second")
	lasts := flags.Duration("lasts", 10*time.Second, "each attack")
	latest := flags.Duration("latest", time.Second, "how late an answer may be; the kubelet waits 1 s, Prometheus 10")
	log := flags.String("log", "/dev/stderr", "")
	only := flags.String("attack", "", "one alone")
	flags.Parse(arguments)

	c := &checks{}
	for _, attack := range attacks {
		if *only != "" && *only != attack.name {
			continue
		}
		victim, path := (*probed)(nil), "/healthz"
		if *proxy != "" {
			victim, path = c.scraped(attack.name, *proxy, *log), "/metrics"
		} else {
			victim = c.probed(attack.name, *program, *log, slow(200*time.Millisecond))
		}
		c.under(attack.name, attack.play, victim, path, *rate, *lasts, *latest)
		victim.end()
	}
	return c.end("attacks")
}

func (c *checks) under(name string, play func(net.Conn, string), attacked *probed, path string, rate int, lasts, latest time.Duration) {
	address := attacked.address
	get(address, path)
	before := attacked.settle()

	var attackers sync.WaitGroup
	var connections []net.Conn
	// The address is not that of the honest clients.
	dialer := net.Dialer{Timeout: time.Second, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	over := time.After(lasts)
	next := time.NewTicker(time.Second / time.Duration(rate))
	defer next.Stop()
	honest := askEach(100*time.Millisecond, lasts, address, path, latest)
	for attacking := true; attacking; {
		select {
		case <-over:
			attacking = false
		case <-next.C:
			connection, err := dialer.Dial("tcp", address)
			if err != nil {
				continue // it lets nobody in, which the honest will notice
			}
			connections = append(connections, connection)
			attackers.Go(func() { play(connection, path) })
		}
	}
	answers := <-honest
	under := attacked.resources()
	for _, connection := range connections {
		connection.Close()
	}
	attackers.Wait()
	after := attacked.settle()
	slices.Sort(answers.took)
	fmt.Printf("%-15s %d connections, %d asked, %d not answered in %v, median %v, latest %v; RSS %d, %d, after it %d KiB, files %d, %d, %d, threads %d, %d, %d\n",
		name, len(connections), len(answers.took), answers.bad, latest, answers.took[len(answers.took)/2].Round(time.Millisecond),
		answers.took[len(answers.took)-1].Round(time.Millisecond), before.kib, under.kib, after.kib,
		before.files, under.files, after.files, before.threads, under.threads, after.threads)
	c.that(name+": the honest are answered", answers.bad == 0, "%d of %d not", answers.bad, len(answers.took))
	c.that(name+": files", after.files <= before.files, "%d, before %d", after.files, before.files)
	c.that(name+": it is well in the end", get(address, path) == "200", "it is not")
}

type answers struct {
	took []time.Duration
	bad  int
}

// Asks at each interval, and does not wait for an answer before it asks again.
func askEach(interval, lasts time.Duration, address, path string, latest time.Duration) <-chan answers {
	done := make(chan answers)
	go func() {
		var asked sync.WaitGroup
		var lock sync.Mutex
		var all answers
		for end := time.Now().Add(lasts); time.Now().Before(end); time.Sleep(interval) {
			asked.Go(func() {
				since := time.Now()
				code := get(address, path)
				took := time.Since(since)
				lock.Lock()
				defer lock.Unlock()
				all.took = append(all.took, took)
				if code != "200" || took > latest {
					all.bad++
				}
			})
		}
		asked.Wait()
		done <- all
	}()
	return done
}
