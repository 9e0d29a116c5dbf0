package sidecars

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// recorder keeps lines of the log.
type recorder struct {
	mutex sync.Mutex
	lines []string
}

func (r *recorder) log(_ Severity, line string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.lines = append(r.lines, line)
}

func (r *recorder) text() string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return strings.Join(r.lines, "\n")
}

// eventually waits until something holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// freeAddress is an address that nothing listens on.
func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

var client = http.Client{
	Timeout:   20 * time.Second,
	Transport: &http.Transport{DisableKeepAlives: true},
}

// get returns the code, 0 if nothing answers, and the text.
func get(address, path string) (int, string) {
	response, err := client.Get("http://" + address + path)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(text)
}

func start(t testing.TB, options Options) *Sidecars {
	t.Helper()
	if options.Log == nil {
		options.Log = func(_ Severity, line string) {}
	}
	s, err := Start(context.Background(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// noLeak fails the test if it leaves goroutines behind.
func noLeak(t testing.TB) {
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			after := runtime.NumGoroutine()
			if after <= before {
				return
			}
			if time.Now().After(end) {
				stacks := make([]byte, 1<<20)
				t.Errorf("%d goroutines became %d:\n%s", before, after, stacks[:runtime.Stack(stacks, true)])
				return
			}
		}
	})
}

func wantAnswer(t testing.TB, address, path string, code int, text string) {
	t.Helper()
	if gotCode, got := get(address, path); gotCode != code || !strings.Contains(got, text) {
		t.Errorf("%s: %d %q, want %d with %q", path, gotCode, got, code, text)
	}
}

func checkError(t testing.TB, err error, text string) {
	t.Helper()
	if got := fmt.Sprint(err); err == nil || !strings.Contains(got, text) {
		t.Errorf("%s; want an error that has %q", got, text)
	}
}
