// Package sidecars does from inside a Go CSI driver what node-driver-registrar and livenessprobe do
// beside it: it registers the driver with the kubelet, and answers /healthz.
//
//	sc, err := sidecars.Start(ctx, sidecars.Options{
//		CSIAddress: "unix:///csi/csi.sock",
//		Registrar: &sidecars.Registrar{
//			KubeletRegistrationPath: "/var/lib/kubelet/plugins/example.csi.k8s.io/csi.sock",
//			PluginRegistrationPath:  "/registration",
//		},
//		LivenessProbe: &sidecars.LivenessProbe{},
//	})
//	...
//	defer sc.Stop()
//
// It is Go alone: neither cgo nor a library is needed.
package sidecars

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Registrar is registration with the kubelet, by its plugin registration service v1.
type Registrar struct {
	// The path of the driver's socket on the node, by which the kubelet finds it. Required.
	KubeletRegistrationPath string
	// The kubelet's directory of sockets of plugins, as this process sees it. Required. The socket
	// made there is `<driver name>-reg.sock`, which off Windows only the process's user may open.
	PluginRegistrationPath string
	// The time that the registrar has to answer for its health. Zero is a second.
	Timeout time.Duration
	// A file made once the kubelet has accepted the driver, and removed when the registrar starts or
	// stops. Empty for none.
	MarkerFile string
	// The address of the registrar's own /healthz: `HOST:PORT`, or `:PORT` on all addresses. Empty for
	// nowhere.
	HTTPEndpoint string
	// How long the kubelet may leave the registration socket without a call. Then the socket is made
	// anew, since a kubelet on Windows sometimes misses one
	// (https://github.com/kubernetes-csi/node-driver-registrar/issues/143). The waits that follow get
	// longer, up to five minutes or this if it is longer. Zero is 30 seconds, below zero for ever.
	RegistrationTimeout time.Duration
	// The registrar's own /healthz answers 500 as long as the kubelet has not registered the driver.
	HealthRequiresRegistration bool
}

// LivenessProbe answers /healthz about the driver: 200 if it says that it is ready, otherwise 500.
type LivenessProbe struct {
	// As above. Empty is 0.0.0.0:9808.
	HTTPEndpoint string
	// The time that a probe may take, the connection to the driver included. Zero is a second.
	ProbeTimeout time.Duration
	// The work of a probe. Nil calls Probe of CSI over the driver's socket, which shows that it can be
	// reached as well. The function should return when its context ends; if it does not, requests are
	// answered in time all the same, and it is not called again until it has returned.
	Probe func(ctx context.Context) (ready bool, err error)
}

// Severity is how grave a line of the log is.
type Severity int32

const (
	SeverityInfo    Severity = 0
	SeverityWarning Severity = 1
	SeverityError   Severity = 2
)

// Options are what Start is told.
type Options struct {
	// The driver's socket, as this process sees it: a path, or `unix://` and a path. Required, unless
	// DriverName and, with a LivenessProbe, its Probe are given.
	CSIAddress string
	// The driver's name. Empty: what the driver answers.
	DriverName string
	// The time to wait for the driver at the start. Zero is for ever.
	ConnectTimeout time.Duration
	// Either may be nil.
	Registrar     *Registrar
	LivenessProbe *LivenessProbe
	// OnRefused is called when the kubelet refuses the driver, with its reason; by one goroutine at a
	// time. The kubelet tries again by itself as long as the socket is there. Must not call Stop. May
	// be nil.
	OnRefused func(reason string)
	// OnFailed is called at most once, when the sidecars cannot go on: the driver did not come in
	// time, or an address cannot be listened on. Must not call Stop. May be nil.
	OnFailed func(err error)
	// Log takes the lines of the log; it is called by many goroutines at once. Nil: they go to
	// standard error.
	Log func(severity Severity, line string)
}

// Sidecars stand in for the two until they are stopped. The methods may be called by any goroutine.
type Sidecars struct {
	options    Options
	csiPath    string
	cancel     context.CancelFunc
	done       chan struct{}
	registered atomic.Bool
}

// Start returns at once; what it starts waits for the driver, so it may be called before the driver
// serves. They stop when ctx ends, as by Stop. The error names the option that is wrong.
//
// Nothing is served before the driver has answered: until then connections are refused, as by
// livenessprobe. If the two have the same address they share it: /healthz is then the
// livenessprobe's, and the registrar's is /healthz/node-driver-registrar.
func Start(ctx context.Context, options Options) (*Sidecars, error) {
	s := &Sidecars{options: options, done: make(chan struct{})}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("sidecars: %w", err)
	}
	ctx, s.cancel = context.WithCancel(ctx)
	go s.run(ctx)
	return s, nil
}

// Registered tells whether the kubelet has accepted the driver, since the registration socket was
// made.
func (s *Sidecars) Registered() bool { return s.registered.Load() }

// Stop removes the registration socket if it is still this process's own, which makes the kubelet
// deregister the driver, and waits for requests under way, at most for their timeouts.
func (s *Sidecars) Stop() {
	s.cancel()
	<-s.done
}

// check completes the options. The caller's own values do not change.
func (s *Sidecars) check() error {
	o := &s.options
	if o.Registrar == nil && o.LivenessProbe == nil {
		return errors.New("Registrar, LivenessProbe: one of them is required")
	}
	s.csiPath = strings.TrimPrefix(o.CSIAddress, "unix:")
	s.csiPath = strings.TrimPrefix(s.csiPath, "//")
	if strings.Contains(s.csiPath, "://") {
		return fmt.Errorf("CSIAddress: %s is not a path, nor unix:// and a path", o.CSIAddress)
	}
	asks := o.DriverName == "" || (o.LivenessProbe != nil && o.LivenessProbe.Probe == nil)
	if s.csiPath == "" && asks {
		return errors.New("CSIAddress: is required")
	}
	if o.DriverName != "" {
		if err := checkName(o.DriverName); err != nil {
			return fmt.Errorf("DriverName: %w", err)
		}
	}
	if o.ConnectTimeout < 0 {
		return errors.New("ConnectTimeout: is below 0")
	}
	if o.Registrar != nil {
		registrar := *o.Registrar
		if registrar.KubeletRegistrationPath == "" {
			return errors.New("Registrar.KubeletRegistrationPath: is required")
		}
		if !utf8.ValidString(registrar.KubeletRegistrationPath) {
			return errors.New("Registrar.KubeletRegistrationPath: is not UTF-8")
		}
		if registrar.PluginRegistrationPath == "" {
			return errors.New("Registrar.PluginRegistrationPath: is required")
		}
		if err := complete(&registrar.Timeout); err != nil {
			return fmt.Errorf("Registrar.Timeout: %w", err)
		}
		if registrar.RegistrationTimeout == 0 {
			registrar.RegistrationTimeout = 30 * time.Second
		}
		o.Registrar = &registrar
	}
	if o.LivenessProbe != nil {
		probe := *o.LivenessProbe
		if probe.HTTPEndpoint == "" {
			probe.HTTPEndpoint = "0.0.0.0:9808"
		}
		if err := complete(&probe.ProbeTimeout); err != nil {
			return fmt.Errorf("LivenessProbe.ProbeTimeout: %w", err)
		}
		o.LivenessProbe = &probe
	}
	return nil
}

func complete(timeout *time.Duration) error {
	if *timeout < 0 {
		return errors.New("is below 0")
	}
	if *timeout == 0 {
		*timeout = time.Second
	}
	return nil
}

// checkName refuses what would not be the name of one file: the driver's name becomes a part of a
// path.
func checkName(name string) error {
	if name == "" {
		return errors.New("is empty")
	}
	if !utf8.ValidString(name) || strings.ContainsAny(name, "/\\:\x00") {
		return fmt.Errorf("%q is not a name of a driver", name)
	}
	return nil
}

func (s *Sidecars) run(ctx context.Context) {
	defer close(s.done)
	defer s.cancel()
	name, err := s.awaitDriver(ctx)
	if err == nil {
		err = s.serve(ctx, name)
	}
	if err != nil && ctx.Err() == nil {
		s.log(SeverityError, err.Error())
		if s.options.OnFailed != nil {
			s.options.OnFailed(fmt.Errorf("sidecars: %w", err))
		}
	}
}

// The driver is asked again after pauses that become longer: one that is about to serve is found at
// once. Attempts become longer when they were too short, for a driver may be slow at its start.
const (
	firstPause   = 20 * time.Millisecond
	lastPause    = time.Second
	firstAttempt = time.Second
	lastAttempt  = 4 * time.Second
)

// awaitDriver returns the driver's name, once it answers.
func (s *Sidecars) awaitDriver(ctx context.Context) (string, error) {
	o := &s.options
	if s.csiPath == "" {
		return o.DriverName, nil
	}
	if o.ConnectTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.ConnectTimeout)
		defer cancel()
	}
	attempt := firstAttempt
	said := ""
	for pause := firstPause; ; pause *= 2 {
		name, err := driverName(ctx, s.csiPath, attempt)
		if err == nil {
			if o.DriverName != "" && o.DriverName != name {
				s.log(SeverityWarning, fmt.Sprintf("the driver at %s says that it is %s, not %s", s.csiPath, name, o.DriverName))
				name = o.DriverName
			}
			return name, nil
		}
		if errors.Is(err, errAnswered) {
			return "", fmt.Errorf("the driver at %s does not tell its name: %w", s.csiPath, err)
		}
		// Each reason once, and not every second.
		if text := err.Error(); text != said && ctx.Err() == nil {
			said = text
			s.log(SeverityWarning, fmt.Sprintf("the driver at %s does not answer yet: %s", s.csiPath, text))
		}
		if status.Code(err) == codes.DeadlineExceeded && attempt < lastAttempt {
			attempt *= 2
		}
		if pause > lastPause {
			pause = lastPause
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("CSIAddress: the driver at %s did not answer within %v: %w", s.csiPath, o.ConnectTimeout, err)
		case <-time.After(pause):
		}
	}
}

// serve does the work of the two until ctx ends or one of them cannot go on.
func (s *Sidecars) serve(ctx context.Context, name string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var r *registrar
	if s.options.Registrar != nil {
		r = newRegistrar(s, name)
	}
	endpoints, err := s.listenHTTP(r)
	if err != nil {
		return err
	}
	defer endpoints.stop()
	failed := make(chan error, 1)
	endpoints.serve(failed)
	if r == nil {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		}
	}
	return r.run(ctx, failed)
}

func (s *Sidecars) log(severity Severity, line string) {
	line = "sidecars: " + line
	if s.options.Log != nil {
		s.options.Log(severity, line)
		return
	}
	fmt.Fprintln(os.Stderr, line)
}
