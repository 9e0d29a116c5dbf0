package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

const driverName = "sample.csi-proxy.example"

// place has the directories of one case: the kubelet's for registrations, and the driver's own.
type place struct {
	trial    *trial
	programs programs
	facts    *facts
	name     string
	dir      string
	health   string
	started  []*process
}

func (p *place) registrations() string { return p.dir + "/r" }
func (p *place) driverSocket() string  { return p.dir + "/d/csi.sock" }
func (p *place) registrationSocket() string {
	return p.registrations() + "/" + driverName + "-reg.sock"
}

// saw records a fact of this case, with the run's directory replaced in the text.
func (p *place) saw(name, value string) {
	p.facts.set(p.name+": "+name, strings.NewReplacer(p.dir, "DIR").Replace(value))
}

func (p *place) start(what string, argv ...string) *process {
	one := start(filepath.Join(p.trial.logs, p.programs.name+"-"+strings.ReplaceAll(p.name, " ", "_")+"-"+what+".log"), argv...)
	p.started = append(p.started, one)
	return one
}

func (p *place) end() {
	for _, one := range p.started {
		one.kill()
	}
	os.RemoveAll(p.dir)
}

func (p *place) sampleDriver() *process {
	os.Remove(p.driverSocket())
	driver := p.start("driver", p.trial.sampleDriver, "--endpoint=unix://"+p.driverSocket(), "--mode=embedded")
	waitFor(20*time.Second, func() bool { return listens(p.driverSocket()) })
	return driver
}

func (p *place) kubelet(flags ...string) *process {
	kubelet := p.start("kubelet", append([]string{p.trial.kubelet, "-plugins", p.registrations()}, flags...)...)
	waitFor(20*time.Second, func() bool { return len(kubelet.all()) > 0 })
	return kubelet
}

// registrar starts the registrar with the case's flags.
func (p *place) registrar(flags ...string) *process {
	argv := []string{p.programs.registrar, "--csi-address=" + p.driverSocket(),
		"--kubelet-registration-path=" + p.driverSocket(), "--plugin-registration-path", p.registrations(),
		"-http-endpoint=" + p.health}
	return p.start("registrar", append(argv, flags...)...)
}

func (p *place) registered() bool {
	return waitFor(20*time.Second, func() bool { return listens(p.registrationSocket()) })
}

func (p *process) all() []string {
	p.lock.Lock()
	defer p.lock.Unlock()
	return append([]string{}, p.lines...)
}

func listens(socket string) bool {
	conn, err := net.Dial("unix", socket)
	if err == nil {
		conn.Close()
	}
	return err == nil
}

// listing returns the entries of a directory with their kinds.
func listing(directory string) string {
	entries := must(os.ReadDir(directory))
	texts := []string{}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			texts = append(texts, info.Mode().Type().String()[:1]+" "+entry.Name())
		}
	}
	sort.Strings(texts)
	return "[" + strings.Join(texts, "; ") + "]"
}

// life registers the driver, and then restarts each program once.
func life(p *place) {
	driver := p.sampleDriver()
	kubelet := p.kubelet()
	registrar := p.registrar()
	p.registered()
	p.saw("1 the kubelet registers", strings.Join(kubelet.linesFrom(1, 3), "; "))
	p.saw("1 the directory", listing(p.registrations()))
	p.saw("1 the socket's mode", must(os.Stat(p.registrationSocket())).Mode().String())
	p.saw("1 GetInfo", said(callBytes(p.registrationSocket(), getInfo, nil, 5*time.Second)))
	p.saw("1 NotifyRegistrationStatus", said(callBytes(p.registrationSocket(), notify, []byte("\x08\x01"), 5*time.Second)))
	p.saw("1 an unknown method", said(callBytes(p.registrationSocket(), getInfo+"s", nil, 5*time.Second)))
	p.saw("1 an unknown service", said(callBytes(p.registrationSocket(), "/csi.v1.Identity/Probe", nil, 5*time.Second)))
	served(p.health, "/healthz")
	p.saw("1 GET", p.answers("GET", "/healthz", "/healthz?verbose=1", "/", "/healthz/", "/metrics", "/debug/pprof/"))
	p.saw("1 other methods", p.methods("HEAD", "POST", "PUT", "DELETE", "OPTIONS"))
	_, body := request("GET", p.health, "/healthz")
	p.saw("1 /healthz says", body)

	driver.kill()
	time.Sleep(500 * time.Millisecond)
	p.saw("2 without the driver: registrar", registrar.exit(0))
	p.saw("2 without the driver: /healthz", get(p.health, "/healthz"))
	driver = p.sampleDriver()
	p.saw("2 the driver is back: registrar", registrar.exit(500*time.Millisecond))
	p.saw("2 the driver is back: /healthz", get(p.health, "/healthz"))
	p.saw("2 the driver is back: the kubelet has", strings.Join(kubelet.linesFrom(4, 0), "; "))

	kubelet.kill()
	kubelet = p.kubelet()
	p.saw("3 a new kubelet registers", strings.Join(kubelet.linesFrom(1, 3), "; "))

	registrar.command.Process.Signal(syscall.SIGTERM)
	p.saw("4 SIGTERM: registrar", registrar.exit(10*time.Second))
	p.saw("4 SIGTERM: the directory", listing(p.registrations()))
	p.saw("4 SIGTERM: the kubelet", strings.Join(kubelet.linesFrom(4, 1), "; "))
	registrar = p.registrar()
	p.saw("5 a new registrar: the kubelet", strings.Join(kubelet.linesFrom(5, 3), "; "))

	before := must(os.Stat(p.registrationSocket()))
	registrar.kill()
	p.saw("6 SIGKILL: the directory", listing(p.registrations()))
	p.saw("6 SIGKILL: the kubelet", strings.Join(kubelet.linesFrom(8, 0), "; "))
	p.saw("6 SIGKILL: /healthz", get(p.health, "/healthz"))
	registrar = p.registrar()
	p.saw("7 a new registrar: the kubelet", strings.Join(kubelet.linesFrom(8, 4), "; "))
	after := must(os.Stat(p.registrationSocket()))
	p.saw("7 a new registrar: its socket", map[bool]string{true: "is the old one", false: "is another"}[os.SameFile(before, after) && before.ModTime() == after.ModTime()])
	p.saw("7 a new registrar: the directory", listing(p.registrations()))
	p.saw("7 a new registrar: it", registrar.exit(0))
}

// refusedVersion shows the registrar's end when the kubelet accepts only another CSI version.
func refusedVersion(p *place) {
	p.sampleDriver()
	kubelet := p.kubelet("-versions=2.0.0")
	registrar := p.registrar()
	p.saw("registrar", registrar.exit(20*time.Second))
	p.saw("the kubelet", strings.Join(kubelet.all()[1:], "; "))
	p.saw("the directory", listing(p.registrations()))
}

// refusedDriver shows a driver that the kubelet cannot reach.
func refusedDriver(p *place) {
	p.sampleDriver()
	kubelet := p.kubelet()
	registrar := p.registrar("--kubelet-registration-path=" + p.dir + "/nowhere.sock")
	p.saw("registrar", registrar.exit(20*time.Second))
	lines := strings.Join(kubelet.all()[1:], "; ")
	if at := strings.Index(lines, "refused: "); at >= 0 {
		lines = lines[:at+len("refused")]
	}
	p.saw("the kubelet", lines)
}

// emptied deletes the registrar's socket from the kubelet's directory.
func emptied(p *place) {
	p.sampleDriver()
	kubelet := p.kubelet()
	registrar := p.registrar()
	kubelet.linesFrom(1, 3)
	os.Remove(p.registrationSocket())
	p.saw("/healthz at once", get(p.health, "/healthz"))
	time.Sleep(8 * time.Second)
	p.saw("/healthz", get(p.health, "/healthz"))
	p.saw("registrar", registrar.exit(0))
	p.saw("the directory", listing(p.registrations()))
	p.saw("the kubelet", strings.Join(kubelet.linesFrom(4, 1), "; "))
	p.saw("SIGTERM", registrar.signal(syscall.SIGTERM))
}

// fileInPlace shows a file, not a socket, at the registrar's path.
func fileInPlace(p *place) {
	p.sampleDriver()
	must(0, os.WriteFile(p.registrationSocket(), []byte("precious"), 0o640))
	p.saw("registrar", p.registrar().exit(20*time.Second))
	p.saw("the directory", listing(p.registrations()))
}

func noDirectory(p *place) {
	p.sampleDriver()
	p.saw("registrar", p.registrar("--plugin-registration-path="+p.dir+"/missing").exit(20*time.Second))
}

func addressTaken(p *place) {
	p.sampleDriver()
	listener := must(net.Listen("tcp", p.health))
	defer listener.Close()
	p.saw("registrar", p.registrar().exit(20*time.Second))
}

// lateDriver gives the driver's address as a URL, and starts the driver late.
func lateDriver(p *place) {
	registrar := p.registrar("-csi-address", "unix://"+p.driverSocket(), "-timeout", "2s")
	time.Sleep(3 * time.Second)
	p.saw("before", registrar.exit(0)+", "+get(p.health, "/healthz")+", "+listing(p.registrations()))
	p.sampleDriver()
	p.registered()
	served(p.health, "/healthz")
	p.saw("after", registrar.exit(0)+", "+get(p.health, "/healthz")+", "+listing(p.registrations()))
}

func noDriver(p *place) {
	since := time.Now()
	p.saw("registrar", p.registrar().exit(40*time.Second))
	p.saw("after 30 s", fmt.Sprint(time.Since(since).Round(5*time.Second) == 30*time.Second))
}

// nameless shows a driver that does not return its name.
func nameless(p *place) {
	for name, info := range map[string]behaviour{"an error": fails(codes.Internal), "an empty name": {}} {
		driver := newDriver(p.driverSocket(), "")
		driver.info = info
		driver.serve(isReady)
		p.saw(name+": registrar", p.registrar().exit(20*time.Second))
		driver.remove()
	}
}

func muteDriver(p *place) {
	driver := newDriver(p.driverSocket(), driverName)
	driver.info = hangs
	driver.serve(isReady)
	defer driver.remove()
	registrar := p.registrar("--timeout=3s")
	p.saw("at first", registrar.exit(2*time.Second))
	p.saw("registrar", registrar.exit(40*time.Second))
}

// registrarFlags shows how flags are parsed; no case needs a driver.
func registrarFlags(p *place) {
	for _, flags := range []string{"--version", "--help", "--nonsense", "",
		"--kubelet-registration-path=/x --mode=kubelet-registration-probe",
		"--kubelet-registration-path=/x --health-port=9809 --http-endpoint=:9810",
		"--kubelet-registration-path=/x --timeout=soon"} {
		p.saw("flags "+flags, p.start("flags", append([]string{p.programs.registrar}, strings.Fields(flags)...)...).exit(5*time.Second))
	}
}

const (
	getInfo = "/pluginregistration.Registration/GetInfo"
	notify  = "/pluginregistration.Registration/NotifyRegistrationStatus"
)

// bytesCodec passes messages as bytes.
type bytesCodec struct{}

func (bytesCodec) Marshal(value any) ([]byte, error) { return *value.(*[]byte), nil }
func (bytesCodec) Unmarshal(data []byte, value any) error {
	*value.(*[]byte) = append([]byte{}, data...)
	return nil
}
func (bytesCodec) Name() string { return "proto" }

func dial(path string) *grpc.ClientConn {
	return must(grpc.NewClient("passthrough:///"+path,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, path string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		})))
}

// callBytes makes one call on a new connection.
func callBytes(path, method string, request []byte, timeout time.Duration) ([]byte, error) {
	conn := dial(path)
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var answer []byte
	err := conn.Invoke(ctx, method, &request, &answer, grpc.ForceCodec(bytesCodec{}))
	return answer, err
}

func said(answer []byte, err error) string {
	if err != nil {
		return status.Code(err).String()
	}
	return fmt.Sprintf("OK %q", answer)
}
