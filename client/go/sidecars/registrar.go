package sidecars

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

const (
	// The time within which a vanished socket is noticed.
	checkInterval = time.Second
	// The longest wait for the kubelet's call of a socket, unless the first is longer.
	longestPatience = 5 * time.Minute
	// The metadata of a GetInfo by which a registrar checks its own health; the kubelet sends none.
	healthMetadata = "csi-registration-health"
)

// registrar is the plugin registration service for one driver.
type registrar struct {
	sidecars *Sidecars
	options  *Registrar
	path     string
	info     pluginInfo

	// Held while the kubelet's answer is handled, so that nothing is called back after a stop.
	mutex   sync.Mutex
	stopped bool
	// The kubelet has called the socket since it was made.
	called bool
}

func newRegistrar(s *Sidecars, name string) *registrar {
	options := s.options.Registrar
	return &registrar{
		sidecars: s,
		options:  options,
		path:     filepath.Join(options.PluginRegistrationPath, name+"-reg.sock"),
		info: pluginInfo{
			kind:     "CSIPlugin",
			name:     name,
			endpoint: options.KubeletRegistrationPath,
			// The version of CSI that upstream's registrar names too.
			versions: []string{"1.0.0"},
		},
	}
}

// service is a registration service on a socket of its own.
type service struct {
	socket *socket
	server *grpc.Server
	ended  chan struct{}
}

func (r *registrar) serve() (*service, error) {
	socket, err := listen(r.path)
	if err != nil {
		return nil, fmt.Errorf("Registrar.PluginRegistrationPath: %w", err)
	}
	s := &service{socket, grpc.NewServer(grpc.ForceServerCodec(codec{})), make(chan struct{})}
	s.server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "pluginregistration.Registration",
		HandlerType: (*interface{})(nil),
		Methods: []grpc.MethodDesc{
			{MethodName: "GetInfo", Handler: r.getInfo},
			{MethodName: "NotifyRegistrationStatus", Handler: r.notify},
		},
	}, r)
	go func() {
		defer close(s.ended)
		_ = s.server.Serve(socket)
	}()
	r.sidecars.log(SeverityInfo, fmt.Sprintf("the kubelet may register %s at %s", r.info.name, r.path))
	return s, nil
}

// stop removes the socket first: the kubelet deregisters a driver whose socket is gone.
func (s *service) stop() error {
	err := s.socket.remove()
	s.server.Stop()
	<-s.ended
	return err
}

func (r *registrar) getInfo(_ interface{}, ctx context.Context, decode func(interface{}) error, _ grpc.UnaryServerInterceptor) (interface{}, error) {
	if err := decode(&empty{}); err != nil {
		return nil, err
	}
	if md, _ := metadata.FromIncomingContext(ctx); len(md.Get(healthMetadata)) == 0 {
		r.setCalled(true)
	}
	return &r.info, nil
}

func (r *registrar) setCalled(called bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.called = called
}

func (r *registrar) wasCalled() bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.called
}

func (r *registrar) notify(_ interface{}, _ context.Context, decode func(interface{}) error, _ grpc.UnaryServerInterceptor) (interface{}, error) {
	var answer registrationStatus
	if err := decode(&answer); err != nil {
		return nil, err
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.stopped {
		return nil, status.Error(codes.Unavailable, "the registrar stops")
	}
	r.called = true
	s := r.sidecars
	if answer.registered {
		s.registered.Store(true)
		s.log(SeverityInfo, fmt.Sprintf("the kubelet has registered %s", r.info.name))
		r.mark()
		return &empty{}, nil
	}
	r.forget()
	s.log(SeverityError, fmt.Sprintf("the kubelet refuses %s: %s", r.info.name, answer.reason))
	if s.options.OnRefused != nil {
		s.options.OnRefused(answer.reason)
	}
	return &empty{}, nil
}

// mark makes the marker file.
func (r *registrar) mark() {
	if r.options.MarkerFile == "" {
		return
	}
	file, err := os.OpenFile(r.options.MarkerFile, os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		r.sidecars.log(SeverityError, fmt.Sprintf("Registrar.MarkerFile: %v", err))
	}
}

// forget undoes what an acceptance did.
func (r *registrar) forget() {
	r.sidecars.registered.Store(false)
	if r.options.MarkerFile == "" {
		return
	}
	if err := os.Remove(r.options.MarkerFile); err != nil && !os.IsNotExist(err) {
		r.sidecars.log(SeverityWarning, fmt.Sprintf("Registrar.MarkerFile: %v", err))
	}
}

// run serves the registration until ctx ends, or something else that has to go on has failed. It
// fails itself if there cannot be a socket at the start.
func (r *registrar) run(ctx context.Context, failed <-chan error) error {
	r.forget()
	service, err := r.serve()
	if err != nil {
		return err
	}
	defer func() {
		if service != nil {
			if err := service.stop(); err != nil {
				r.sidecars.log(SeverityWarning, fmt.Sprintf("%s cannot be removed: %v", r.path, err))
			}
		}
		r.mutex.Lock()
		defer r.mutex.Unlock()
		r.stopped = true
		r.forget()
	}()
	waits := newPatience(r.options.RegistrationTimeout)
	timer := time.NewTimer(waits.next())
	defer timer.Stop()
	said := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case <-timer.C:
		}
		timer.Reset(checkInterval)
		if service != nil {
			inPlace := service.socket.inPlace()
			if inPlace && r.wasCalled() {
				waits.wasCalled()
			}
			if inPlace && !waits.over() {
				timer.Reset(waits.next())
				continue
			}
			if !inPlace {
				r.sidecars.log(SeverityWarning, fmt.Sprintf("%s is not this process's any more", r.path))
			} else if waited := waits.time; waits.lost() {
				r.sidecars.log(SeverityWarning, fmt.Sprintf("%s: the kubelet has not called it in %v, so it is made anew", r.path, waited))
			}
			_ = service.stop()
			service = nil
			r.mutex.Lock()
			r.forget()
			r.mutex.Unlock()
		}
		// A socket that another process has put there, as a newer one of the same driver, stays.
		if exists, err := socketExists(r.path); err != nil || exists {
			continue
		}
		r.setCalled(false)
		again, err := r.serve()
		if err == nil {
			service, said = again, ""
			waits.begin()
			timer.Reset(waits.next())
		} else if text := err.Error(); text != said {
			said = text
			r.sidecars.log(SeverityError, text)
		}
	}
}

// patience measures how long the kubelet leaves a socket without a call.
type patience struct {
	first, time time.Duration
	// until is zero while the registrar waits for no call.
	until    time.Time
	failures uint
}

func newPatience(first time.Duration) *patience {
	p := &patience{first: first, time: first}
	p.begin()
	return p
}

// begin is for a new socket.
func (p *patience) begin() {
	if p.first > 0 {
		p.until = time.Now().Add(p.time)
	}
}

// wasCalled is for a socket that the kubelet has called.
func (p *patience) wasCalled() { p.time, p.until, p.failures = p.first, time.Time{}, 0 }

// lost is for a socket that goes because the kubelet has not called it. It returns whether the loss
// belongs in the log, which has the 1st, 2nd, 4th, 8th and so on.
func (p *patience) lost() bool {
	p.until = time.Time{}
	p.failures++
	if p.failures > 1 && p.time < longestPatience {
		if p.time *= 2; p.time > longestPatience {
			p.time = longestPatience
		}
	}
	return p.failures&(p.failures-1) == 0
}

func (p *patience) over() bool { return !p.until.IsZero() && !time.Now().Before(p.until) }

// next returns the time until the next look at the socket.
func (p *patience) next() time.Duration {
	if left := time.Until(p.until); left > 0 && left < checkInterval {
		return left
	}
	return checkInterval
}

// health asks the registration service itself, as the kubelet does.
func (r *registrar) health(ctx context.Context) error {
	var info pluginInfo
	ctx = metadata.AppendToOutgoingContext(ctx, healthMetadata, "1")
	if err := call(ctx, r.path, "/pluginregistration.Registration/GetInfo", &info); err != nil {
		return fmt.Errorf("error getting info from the registration socket: %w", err)
	}
	if info.name != r.info.name {
		return fmt.Errorf("invalid driver name %s", info.name)
	}
	if r.options.HealthRequiresRegistration && !r.sidecars.Registered() {
		return errors.New("the kubelet has not registered the driver")
	}
	return nil
}
