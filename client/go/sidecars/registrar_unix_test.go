//go:build !windows

package sidecars

import (
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const endpointOfKubelet = "/var/lib/kubelet/plugins/a.b/csi.sock"

// registration is a driver that registers.
func registration(t testing.TB, change func(*Options)) (s *Sidecars, path string, d *driver) {
	t.Helper()
	d = newDriver(t, "a.b")
	directory := t.TempDir()
	options := Options{
		CSIAddress: "unix://" + d.path,
		Registrar: &Registrar{
			KubeletRegistrationPath: endpointOfKubelet,
			PluginRegistrationPath:  directory,
		},
	}
	if change != nil {
		change(&options)
	}
	s = start(t, options)
	path = filepath.Join(directory, "a.b-reg.sock")
	eventually(t, "the registration socket", func() bool { return exists(path) })
	return s, path, d
}

func TestTheKubeletRegistersTheDriver(t *testing.T) {
	noLeak(t)
	marker := filepath.Join(t.TempDir(), "registration")
	if err := os.WriteFile(marker, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, path, _ := registration(t, func(o *Options) { o.Registrar.MarkerFile = marker })
	if exists(marker) {
		t.Error("the marker of an earlier process is still there")
	}
	got, want := getInfo(t, path), pluginInfo{"CSIPlugin", "a.b", endpointOfKubelet, []string{"1.0.0"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if s.Registered() {
		t.Error("is registered before the kubelet has said so")
	}
	notify(t, path, true, "")
	if !s.Registered() || !exists(marker) {
		t.Error("is not registered, or has no marker")
	}
	s.Stop()
	if exists(path) || exists(marker) || s.Registered() {
		t.Error("something is left after a stop")
	}
}

// This holds with every umask, and leaves the umask alone.
func TestOnlyTheUserMayOpenTheSocket(t *testing.T) {
	before := syscall.Umask(0)
	defer syscall.Umask(before)
	_, path, _ := registration(t, nil)
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if now := syscall.Umask(0); now != 0 {
		t.Errorf("the umask became %o", now)
	}
}

func TestARefusalIsTold(t *testing.T) {
	reasons := make(chan string, 10)
	s, path, _ := registration(t, func(o *Options) { o.OnRefused = func(reason string) { reasons <- reason } })
	notify(t, path, true, "")
	notify(t, path, false, "no room")
	if reason := <-reasons; reason != "no room" || s.Registered() {
		t.Errorf("%q, registered %v", reason, s.Registered())
	}
	// The kubelet tries again.
	getInfo(t, path)
	notify(t, path, true, "")
	if !s.Registered() || len(reasons) != 0 {
		t.Error("the second try was not accepted")
	}
}

// As when the kubelet's directory is cleaned up.
func TestASocketThatVanishesIsMadeAgain(t *testing.T) {
	noLeak(t)
	marker := filepath.Join(t.TempDir(), "registration")
	s, path, _ := registration(t, func(o *Options) { o.Registrar.MarkerFile = marker })
	notify(t, path, true, "")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a new socket", func() bool { return exists(path) })
	if s.Registered() || exists(marker) {
		t.Error("is still registered")
	}
	getInfo(t, path)
	notify(t, path, true, "")
	if !s.Registered() {
		t.Error("is not registered again")
	}

	// And with its directory.
	directory := filepath.Dir(path)
	if err := os.RemoveAll(directory); err != nil {
		t.Fatal(err)
	}
	eventually(t, "that it is noticed", func() bool { return !s.Registered() })
	time.Sleep(checkInterval + 200*time.Millisecond)
	if err := os.Mkdir(directory, 0o700); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a new socket", func() bool { return exists(path) })
	getInfo(t, path)
	s.Stop()
	if exists(path) {
		t.Error("the new socket is left after a stop")
	}
}

// A newer process of the driver has taken over: its socket stays, also when this one stops.
func TestAnothersSocketStays(t *testing.T) {
	s, path, d := registration(t, nil)
	notify(t, path, true, "")
	newer := start(t, Options{CSIAddress: d.path, Registrar: &Registrar{
		KubeletRegistrationPath: "/newer/csi.sock",
		PluginRegistrationPath:  filepath.Dir(path),
	}})
	eventually(t, "that it is noticed", func() bool { return !s.Registered() })
	time.Sleep(checkInterval + 200*time.Millisecond)
	if info := getInfo(t, path); info.endpoint != "/newer/csi.sock" {
		t.Errorf("%s was taken back", path)
	}
	s.Stop()
	if info := getInfo(t, path); info.endpoint != "/newer/csi.sock" {
		t.Errorf("%s was removed", path)
	}
	newer.Stop()
	if exists(path) {
		t.Error("the newer one has not removed its socket")
	}
}

// And if the newer one goes first, this one comes back.
func TestAPlaceThatIsFreeAgainIsTaken(t *testing.T) {
	s, path, _ := registration(t, nil)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(checkInterval + 200*time.Millisecond)
	listener.Close()
	eventually(t, "its own socket", func() bool { return exists(path) })
	notify(t, path, true, "")
	if !s.Registered() {
		t.Error("is not registered")
	}
}

func TestAStaleSocketIsReplaced(t *testing.T) {
	d := newDriver(t, "a.b")
	directory := t.TempDir()
	path := filepath.Join(directory, "a.b-reg.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	listener.Close()
	start(t, Options{CSIAddress: d.path, Registrar: &Registrar{KubeletRegistrationPath: "/x", PluginRegistrationPath: directory}})
	eventually(t, "an answer", func() bool { return kubelet(path, "GetInfo", &empty{}, &pluginInfo{}) == nil })
}

// A file, a directory or a link at the socket's place is somebody's mistake, and stays.
func TestWhatIsNotASocketStays(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"a file":      func(path string) error { return os.WriteFile(path, []byte("precious"), 0o600) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"a link":      func(path string) error { return os.Symlink("/tmp", path) },
	} {
		d := newDriver(t, "a.b")
		directory := t.TempDir()
		path := filepath.Join(directory, "a.b-reg.sock")
		if err := put(path); err != nil {
			t.Fatal(err)
		}
		before, _ := os.Lstat(path)
		failed := make(chan error, 1)
		s := start(t, Options{
			CSIAddress: d.path,
			Registrar:  &Registrar{KubeletRegistrationPath: "/x", PluginRegistrationPath: directory},
			OnFailed:   func(err error) { failed <- err },
		})
		checkError(t, <-failed, "is not a socket")
		s.Stop()
		after, err := os.Lstat(path)
		if err != nil || after.Mode() != before.Mode() || after.Size() != before.Size() {
			t.Errorf("%s was touched: %v", name, err)
		}
	}
}

// The same while it runs: the registrar waits until the place is free.
func TestAFileInTheSocketsPlaceStays(t *testing.T) {
	s, path, _ := registration(t, nil)
	notify(t, path, true, "")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "that it is noticed", func() bool { return !s.Registered() })
	time.Sleep(checkInterval + 200*time.Millisecond)
	s.Stop()
	if text, err := os.ReadFile(path); err != nil || string(text) != "precious" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestADirectoryThatIsMissing(t *testing.T) {
	d := newDriver(t, "a.b")
	failed := make(chan error, 1)
	start(t, Options{
		CSIAddress: d.path,
		Registrar:  &Registrar{KubeletRegistrationPath: "/x", PluginRegistrationPath: "/nowhere/at/all"},
		OnFailed:   func(err error) { failed <- err },
	})
	checkError(t, <-failed, "PluginRegistrationPath")
}

// Nothing is called back after a stop, however the two meet.
func TestAStopWhileTheKubeletAnswers(t *testing.T) {
	noLeak(t)
	for i := 0; i < 30; i++ {
		var mutex sync.Mutex
		stopped := false
		s, path, _ := registration(t, func(o *Options) {
			o.OnRefused = func(string) {
				mutex.Lock()
				defer mutex.Unlock()
				if stopped {
					t.Error("was called back after a stop")
				}
			}
		})
		var kubelets sync.WaitGroup
		for k := 0; k < 3; k++ {
			kubelets.Add(1)
			go func() {
				defer kubelets.Done()
				for n := 0; kubelet(path, "NotifyRegistrationStatus", &registrationStatus{n%2 == 0, "no"}, &empty{}) == nil; n++ {
				}
			}()
		}
		time.Sleep(time.Duration(i) * time.Millisecond / 3)
		s.Stop()
		mutex.Lock()
		stopped = true
		mutex.Unlock()
		if s.Registered() || exists(path) {
			t.Error("something is left after a stop")
		}
		kubelets.Wait()
	}
}

// A kubelet that misses sockets is met by new ones, ever more slowly, until it calls.
func TestASocketThatTheKubeletDoesNotCallIsMadeAnew(t *testing.T) {
	noLeak(t)
	address := freeAddress(t)
	log := &recorder{}
	s, path, _ := registration(t, func(o *Options) {
		o.Log = log.log
		o.Registrar.HTTPEndpoint = address
		o.Registrar.RegistrationTimeout = 50 * time.Millisecond
	})
	// The inode of a socket that has gone may be the next one's.
	made := func() time.Time {
		info, err := os.Lstat(path)
		if err != nil {
			return time.Time{}
		}
		return info.ModTime()
	}
	// After 50, 50, 100, 200, 400 and 800 ms; the next would come after 1.6 s.
	begun := time.Now()
	for i := 0; i < 6; i++ {
		last := made()
		eventually(t, "a new socket", func() bool {
			// Its own question is not the kubelet's.
			get(address, "/healthz")
			now := made()
			return !now.IsZero() && !now.Equal(last)
		})
	}
	if took := time.Since(begun); took < 700*time.Millisecond {
		t.Errorf("six sockets within %v: the waits do not get longer", took)
	}
	if lines := strings.Count(log.text(), "has not called it"); lines < 1 || lines > 4 {
		t.Errorf("%d lines:\n%s", lines, log.text())
	}
	getInfo(t, path)
	last := made()
	time.Sleep(2 * time.Second)
	if !made().Equal(last) {
		t.Error("the socket went although the kubelet has called it")
	}
	notify(t, path, true, "")
	if !s.Registered() {
		t.Error("is not registered")
	}
	// And when that goes, the next is waited for as the first was.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < 2; i++ {
		last := made()
		eventually(t, "a new socket", func() bool { now := made(); return !now.IsZero() && !now.Equal(last) })
	}
}

func TestASocketMayWaitForEver(t *testing.T) {
	_, path, _ := registration(t, func(o *Options) { o.Registrar.RegistrationTimeout = -1 })
	before, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(checkInterval + 500*time.Millisecond)
	if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
		t.Errorf("the socket was made anew: %v", err)
	}
}

func TestHealthMayRequireRegistration(t *testing.T) {
	address := freeAddress(t)
	_, path, _ := registration(t, func(o *Options) {
		o.Registrar.HTTPEndpoint = address
		o.Registrar.HealthRequiresRegistration = true
	})
	wantAnswer(t, address, "/healthz", 500, "has not registered")
	getInfo(t, path)
	wantAnswer(t, address, "/healthz", 500, "has not registered")
	notify(t, path, true, "")
	wantAnswer(t, address, "/healthz", 200, "ok")
	notify(t, path, false, "no room")
	wantAnswer(t, address, "/healthz", 500, "has not registered")
}

func TestTheRegistrarsOwnHealth(t *testing.T) {
	address := freeAddress(t)
	s, path, _ := registration(t, func(o *Options) { o.Registrar.HTTPEndpoint = address })
	wantAnswer(t, address, "/healthz", 200, "ok")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	wantAnswer(t, address, "/healthz", 404, "registration socket does not exist")
	eventually(t, "recovery", func() bool { code, _ := get(address, "/healthz"); return code == 200 })
	s.Stop()
}
