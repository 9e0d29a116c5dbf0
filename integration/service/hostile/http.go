package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

type httpAttack struct {
	name string
	play func(c net.Conn)
}

func wholeRequest(c net.Conn) { c.Write([]byte("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")) }

// from returns the attacker's address for its nth connection; the honest client has 127.0.0.1.
func (a httpAttack) from(n int) net.IP {
	switch {
	case strings.HasSuffix(a.name, "the honest client's address"):
		return net.IPv4(127, 0, 0, 1)
	case strings.HasSuffix(a.name, "an address each"):
		return net.IPv4(127, 1, byte(n>>8), byte(n))
	}
	return net.IPv4(127, 0, 0, 2)
}

// httpAttacks send their text to the address of /metrics and keep the connection open. The sidecars' /healthz
// uses the same server.
var httpAttacks = []httpAttack{
	{"silent", func(net.Conn) {}},
	{"whole requests", wholeRequest},
	{"whole requests from the honest client's address", wholeRequest},
	{"whole requests from an address each", wholeRequest},
	{"half a request", func(c net.Conn) { c.Write([]byte("GET /metrics HTTP/1.1\r\nHost: a\r\n")) }},
	{"half a body", func(c net.Conn) {
		c.Write([]byte("POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nx"))
	}},
	{"slow", func(c net.Conn) {
		for _, letter := range []byte("GET /metrics HTTP/1.1\r\nX: " + strings.Repeat("x", 1000)) {
			if _, err := c.Write([]byte{letter}); err != nil {
				return
			}
			time.Sleep(200 * time.Millisecond)
		}
	}},
	{"unread answers", func(c net.Conn) {
		c.Write([]byte(strings.Repeat("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", 1000)))
	}},
	{"endless header", func(c net.Conn) {
		for range 64 {
			if _, err := c.Write([]byte("X: " + strings.Repeat("x", 16000) + "\r\n")); err != nil {
				return
			}
		}
	}},
}

// attackHTTP makes `rate` connections a second of each attack, while a scrape every 100 ms must be answered
// within Prometheus' ten seconds. Returns false if a scrape is not, or if the service keeps a connection.
func attackHTTP(o options) (bool, error) {
	passed := true
	for _, attack := range httpAttacks {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return false, err
		}
		address := listener.Addr().String()
		listener.Close()
		service := exec.Command(o.service, "--host=simulated", "--socket-dir="+o.directory, "--metrics-bind-address="+address)
		if err := service.Start(); err != nil {
			return false, err
		}
		answered, asked := underHTTP(attack, address, o)
		open := func() int {
			files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", service.Process.Pid))
			return len(files)
		}
		kept := open()
		for end := time.Now().Add(10 * time.Second); kept > 64 && time.Now().Before(end); kept = open() {
			time.Sleep(100 * time.Millisecond)
		}
		service.Process.Kill()
		service.Wait()
		fmt.Printf("%s: %d of %d scrapes answered, %d files open at the end\n", attack.name, answered, asked, kept)
		passed = passed && asked > 0 && answered == asked && kept <= 64
	}
	return passed, nil
}

func underHTTP(attack httpAttack, address string, o options) (answered, asked int) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	scrape := func() bool {
		answer, err := client.Get("http://" + address + "/metrics")
		if err == nil {
			answer.Body.Close()
		}
		return err == nil && answer.StatusCode == http.StatusOK
	}
	for end := time.Now().Add(20 * time.Second); !scrape() && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
	}
	var attackers, scrapes sync.WaitGroup
	var connections []net.Conn
	var lock sync.Mutex
	for i := 0; i < o.http*o.seconds; i++ {
		dialer := net.Dialer{Timeout: time.Second, LocalAddr: &net.TCPAddr{IP: attack.from(i)}}
		if connection, err := dialer.Dial("tcp", address); err == nil {
			connections = append(connections, connection)
			attackers.Go(func() { attack.play(connection) })
		}
		if i%(max(o.http/10, 1)) == 0 {
			asked++
			scrapes.Go(func() {
				if scrape() {
					lock.Lock()
					answered++
					lock.Unlock()
				}
			})
		}
		time.Sleep(time.Second / time.Duration(o.http))
	}
	scrapes.Wait()
	for _, connection := range connections {
		connection.Close()
	}
	attackers.Wait()
	return answered, asked
}
