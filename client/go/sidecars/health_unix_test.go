//go:build !windows

package sidecars

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// probing is a driver whose health is asked for.
func probing(t testing.TB, timeout time.Duration) (d *driver, address string, s *Sidecars) {
	t.Helper()
	d, address = newDriver(t, "a.b"), freeAddress(t)
	s = start(t, Options{CSIAddress: d.path, LivenessProbe: &LivenessProbe{HTTPEndpoint: address, ProbeTimeout: timeout}})
	eventually(t, "/healthz", func() bool { code, _ := get(address, "/healthz"); return code != 0 })
	return d, address, s
}

func TestTheDriversStates(t *testing.T) {
	noLeak(t)
	d, address, s := probing(t, 300*time.Millisecond)
	wantAnswer(t, address, "/healthz", 200, "ok")
	d.setReady(false)
	wantAnswer(t, address, "/healthz", 500, "driver responded but is not ready")
	d.setReady(true)
	wantAnswer(t, address, "/healthz", 200, "ok")

	d.setHang(make(chan struct{}))
	begin := time.Now()
	wantAnswer(t, address, "/healthz", 500, "DeadlineExceeded")
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("a probe of 300 ms took %v", took)
	}
	d.setHang(nil)
	wantAnswer(t, address, "/healthz", 200, "ok")

	d.server.Stop()
	wantAnswer(t, address, "/healthz", 500, "Unavailable")
	d.serve(t)
	wantAnswer(t, address, "/healthz", 200, "ok")
	s.Stop()
	d.server.Stop()
}

// Somebody who accepts connections, or does not even do that, and says nothing.
func TestADriverThatIsSilent(t *testing.T) {
	noLeak(t)
	d, address, s := probing(t, 300*time.Millisecond)
	d.server.Stop()
	listener, err := net.Listen("unix", d.path)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	for i := 0; i < 3; i++ {
		wantAnswer(t, address, "/healthz", 500, "")
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("three probes of 300 ms took %v", took)
	}
	listener.Close()
	s.Stop()
}

func TestManyProbesOfADriverThatHangs(t *testing.T) {
	noLeak(t)
	// Long enough for all to have asked, on a busy machine too, before the answers are due within a second.
	d, address, s := probing(t, 5*time.Second)
	d.setHang(make(chan struct{}))
	var probes sync.WaitGroup
	for i := 0; i < 100; i++ {
		probes.Add(1)
		go func() {
			defer probes.Done()
			wantAnswer(t, address, "/healthz", 500, "")
		}()
	}
	probes.Wait()
	d.setHang(nil)
	wantAnswer(t, address, "/healthz", 200, "ok")
	s.Stop()
	d.server.Stop()
}

// It may be started before the driver, and answers once the driver does.
func TestTheDriverIsWaitedFor(t *testing.T) {
	d := newDriver(t, "a.b")
	d.server.Stop()
	address := freeAddress(t)
	directory := t.TempDir()
	log := new(recorder)
	s := start(t, Options{
		CSIAddress:    d.path,
		LivenessProbe: &LivenessProbe{HTTPEndpoint: address},
		Registrar:     &Registrar{KubeletRegistrationPath: "/x", PluginRegistrationPath: directory},
		Log:           log.log,
	})
	eventually(t, "a line that it waits", func() bool { return strings.Contains(log.text(), "does not answer yet") })
	if code, _ := get(address, "/healthz"); code != 0 {
		t.Error("answers before the driver:", code)
	}
	if entries, err := os.ReadDir(directory); err != nil || len(entries) != 0 {
		t.Error("registers before the driver answers")
	}
	d.serve(t)
	eventually(t, "/healthz", func() bool { code, _ := get(address, "/healthz"); return code == 200 })
	eventually(t, "the registration socket", func() bool { return exists(filepath.Join(directory, "a.b-reg.sock")) })
	s.Stop()
}

// Attempts of a second each would never meet it.
func TestADriverThatIsSlowToTellItsName(t *testing.T) {
	d := newDriver(t, "a.b")
	d.mutex.Lock()
	d.slowness = 1500 * time.Millisecond
	d.mutex.Unlock()
	address := freeAddress(t)
	start(t, Options{CSIAddress: d.path, LivenessProbe: &LivenessProbe{HTTPEndpoint: address, ProbeTimeout: 3 * time.Second}})
	eventually(t, "/healthz", func() bool { code, _ := get(address, "/healthz"); return code == 200 })
}

func TestADriverThatDoesNotCome(t *testing.T) {
	noLeak(t)
	failed := make(chan error, 2)
	s := start(t, Options{
		CSIAddress:     filepath.Join(t.TempDir(), "csi.sock"),
		ConnectTimeout: 200 * time.Millisecond,
		LivenessProbe:  &LivenessProbe{HTTPEndpoint: freeAddress(t)},
		OnFailed:       func(err error) { failed <- err },
	})
	checkError(t, <-failed, "did not answer within 200ms")
	s.Stop()
	if len(failed) != 0 {
		t.Error("failed twice")
	}
}

// An answer is not waited out: it will be the same again.
func TestADriverWhoseNameIsOfNoUse(t *testing.T) {
	for name, says := range map[string]string{"../a.b": "is not a name of a driver", "": "is empty"} {
		d := newDriver(t, name)
		failed := make(chan error, 1)
		start(t, Options{
			// As gRPC writes it, too.
			CSIAddress: "unix:" + d.path,
			Registrar:  &Registrar{KubeletRegistrationPath: "/x", PluginRegistrationPath: t.TempDir()},
			OnFailed:   func(err error) { failed <- err },
		})
		checkError(t, <-failed, says)
	}
}

func TestADriverThatIsNotOne(t *testing.T) {
	// A registration service instead of a driver.
	_, path, _ := registration(t, nil)
	failed := make(chan error, 1)
	start(t, Options{
		CSIAddress:    path,
		LivenessProbe: &LivenessProbe{HTTPEndpoint: freeAddress(t)},
		OnFailed:      func(err error) { failed <- err },
	})
	checkError(t, <-failed, "Unimplemented")
}

// At an address that both share, /healthz is the driver's.
func TestTheTwoShareAnAddress(t *testing.T) {
	d := newDriver(t, "a.b")
	d.setReady(false)
	address := freeAddress(t)
	start(t, Options{
		CSIAddress:    d.path,
		LivenessProbe: &LivenessProbe{HTTPEndpoint: address},
		Registrar:     &Registrar{KubeletRegistrationPath: "/x", PluginRegistrationPath: t.TempDir(), HTTPEndpoint: address},
	})
	eventually(t, "the registrar's health", func() bool { code, _ := get(address, "/healthz/node-driver-registrar"); return code == 200 })
	wantAnswer(t, address, "/healthz", 500, "not ready")
}
