package sidecars

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func ready(context.Context) (bool, error) { return true, nil }

func TestOptionsThatAreWrongAreNamed(t *testing.T) {
	registrar := func() *Registrar {
		return &Registrar{KubeletRegistrationPath: "/plugins/csi.sock", PluginRegistrationPath: "/registration"}
	}
	for want, options := range map[string]Options{
		"Registrar, LivenessProbe":              {CSIAddress: "/csi.sock"},
		"CSIAddress: is required":               {LivenessProbe: &LivenessProbe{}},
		"CSIAddress: tcp://1.2.3.4:5":           {CSIAddress: "tcp://1.2.3.4:5", LivenessProbe: &LivenessProbe{}},
		"DriverName: \"../x\"":                  {DriverName: "../x", Registrar: registrar()},
		"DriverName: \"C:x\"":                   {DriverName: "C:x", Registrar: registrar()},
		"DriverName: \"\\xff\"":                 {DriverName: "\xff", Registrar: registrar()},
		"ConnectTimeout":                        {CSIAddress: "/csi.sock", ConnectTimeout: -1, LivenessProbe: &LivenessProbe{}},
		"LivenessProbe.ProbeTimeout":            {CSIAddress: "/csi.sock", LivenessProbe: &LivenessProbe{ProbeTimeout: -1}},
		"Registrar.KubeletRegistrationPath":     {CSIAddress: "/csi.sock", Registrar: &Registrar{PluginRegistrationPath: "/x"}},
		"KubeletRegistrationPath: is not UTF-8": {CSIAddress: "/csi.sock", Registrar: &Registrar{KubeletRegistrationPath: "\xff", PluginRegistrationPath: "/x"}},
		"Registrar.PluginRegistrationPath":      {CSIAddress: "/csi.sock", Registrar: &Registrar{KubeletRegistrationPath: "/x"}},
		"Registrar.Timeout":                     {CSIAddress: "/csi.sock", Registrar: &Registrar{KubeletRegistrationPath: "/x", PluginRegistrationPath: "/x", Timeout: -1}},
	} {
		s, err := Start(context.Background(), options)
		if s != nil {
			t.Errorf("%s: started", want)
			s.Stop()
		}
		checkError(t, err, want)
	}
}

// The caller may use its options again.
func TestOptionsStayAsTheyAre(t *testing.T) {
	address := freeAddress(t)
	probe := LivenessProbe{HTTPEndpoint: address, Probe: ready}
	start(t, Options{DriverName: "a.b", LivenessProbe: &probe})
	if probe.ProbeTimeout != 0 {
		t.Error("the options were changed")
	}
}

func TestAFunctionAnswersForTheDriver(t *testing.T) {
	noLeak(t)
	address := freeAddress(t)
	var mutex sync.Mutex
	isReady, problem := true, error(nil)
	set := func(r bool, err error) {
		mutex.Lock()
		defer mutex.Unlock()
		isReady, problem = r, err
	}
	s := start(t, Options{DriverName: "a.b", LivenessProbe: &LivenessProbe{
		HTTPEndpoint: address,
		Probe: func(context.Context) (bool, error) {
			mutex.Lock()
			defer mutex.Unlock()
			return isReady, problem
		},
	}})
	eventually(t, "/healthz", func() bool { code, _ := get(address, "/healthz"); return code != 0 })
	wantAnswer(t, address, "/healthz", 200, "ok")
	set(false, nil)
	wantAnswer(t, address, "/healthz", 500, "driver responded but is not ready")
	set(true, errors.New("the disk is on fire"))
	wantAnswer(t, address, "/healthz", 500, "the disk is on fire")
	set(true, nil)
	wantAnswer(t, address, "/healthz", 200, "ok")
	wantAnswer(t, address, "/other", 404, "")
	s.Stop()
	if code, _ := get(address, "/healthz"); code != 0 {
		t.Error("still answers after a stop:", code)
	}
	s.Stop()
}

// A function that does not return holds one goroutine, and the answers come in time.
func TestAFunctionThatHangs(t *testing.T) {
	noLeak(t)
	address := freeAddress(t)
	release := make(chan struct{})
	var calls atomic.Int32
	s := start(t, Options{DriverName: "a.b", LivenessProbe: &LivenessProbe{
		HTTPEndpoint: address,
		ProbeTimeout: 50 * time.Millisecond,
		Probe: func(context.Context) (bool, error) {
			calls.Add(1)
			<-release
			return true, nil
		},
	}})
	eventually(t, "/healthz", func() bool { code, _ := get(address, "/healthz"); return code != 0 })
	begin := time.Now()
	for i := 0; i < 10; i++ {
		wantAnswer(t, address, "/healthz", 500, "deadline exceeded")
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("ten probes of 50 ms took %v", took)
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("%d calls at once", n)
	}
	close(release)
	eventually(t, "recovery", func() bool { code, _ := get(address, "/healthz"); return code == 200 })
	s.Stop()
}

func TestAnAddressThatIsTaken(t *testing.T) {
	address := freeAddress(t)
	first := start(t, Options{DriverName: "a.b", LivenessProbe: &LivenessProbe{HTTPEndpoint: address, Probe: ready}})
	eventually(t, "/healthz", func() bool { code, _ := get(address, "/healthz"); return code == 200 })
	failed := make(chan error, 2)
	second := start(t, Options{
		DriverName:    "a.b",
		LivenessProbe: &LivenessProbe{HTTPEndpoint: address, Probe: ready},
		OnFailed:      func(err error) { failed <- err },
	})
	checkError(t, <-failed, "LivenessProbe.HTTPEndpoint")
	second.Stop()
	if len(failed) != 0 {
		t.Error("failed twice")
	}
	first.Stop()
}

// Stops by the context of Start, too.
func TestTheContextEnds(t *testing.T) {
	noLeak(t)
	address := freeAddress(t)
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error, 1)
	s, err := Start(ctx, Options{
		DriverName:    "a.b",
		LivenessProbe: &LivenessProbe{HTTPEndpoint: address, Probe: ready},
		OnFailed:      func(err error) { failed <- err },
		Log:           new(recorder).log,
	})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "/healthz", func() bool { code, _ := get(address, "/healthz"); return code == 200 })
	cancel()
	eventually(t, "the end", func() bool { code, _ := get(address, "/healthz"); return code == 0 })
	s.Stop()
	if len(failed) != 0 {
		t.Error("a stop is not a failure:", <-failed)
	}
}

// A client that connects and is silent does not keep a stop waiting.
func TestAStopWithASilentClient(t *testing.T) {
	address := freeAddress(t)
	s := start(t, Options{DriverName: "a.b", LivenessProbe: &LivenessProbe{HTTPEndpoint: address, Probe: ready, ProbeTimeout: 100 * time.Millisecond}})
	eventually(t, "/healthz", func() bool { code, _ := get(address, "/healthz"); return code == 200 })
	silent, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	begin := time.Now()
	s.Stop()
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("a stop took %v", took)
	}
}

// A connection has one request, however many are sent, and a second for it.
func TestWhatAConnectionMayHold(t *testing.T) {
	address := freeAddress(t)
	var probes atomic.Int64
	probe := func(context.Context) (bool, error) { probes.Add(1); return true, nil }
	start(t, Options{DriverName: "a.b", LivenessProbe: &LivenessProbe{HTTPEndpoint: address, Probe: probe, ProbeTimeout: time.Second}})
	eventually(t, "/healthz", func() bool { code, _ := get(address, "/healthz"); return code == 200 })
	for name, sent := range map[string]struct {
		text   string
		probes int64
	}{
		"silence":        {"", 0},
		"half a request": {"GET /healthz HTTP/1.1\r\nHost:", 0},
		"many":           {strings.Repeat("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", 1000), 1},
	} {
		before := probes.Load()
		connection, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		connection.SetDeadline(time.Now().Add(10 * time.Second))
		connection.Write([]byte(sent.text))
		if _, err := io.Copy(io.Discard, connection); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the connection stays", name)
		}
		if got := probes.Load() - before; got != sent.probes {
			t.Errorf("%s: %d probes, not %d", name, got, sent.probes)
		}
	}
}
