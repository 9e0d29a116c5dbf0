package sidecars

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The time within which a vanished socket is noticed.
const checkInterval = time.Second

// registrar is the plugin registration service for one driver.
type registrar struct {
	sidecars *Sidecars
	options  *Registrar
	path     string
	info     pluginInfo

	// Held while the kubelet's answer is handled, so that nothing is called back after a stop.
	mutex   sync.Mutex
	stopped bool
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

func (r *registrar) getInfo(_ interface{}, _ context.Context, decode func(interface{}) error, _ grpc.UnaryServerInterceptor) (interface{}, error) {
	if err := decode(&empty{}); err != nil {
		return nil, err
	}
	return &r.info, nil
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
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	said := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case <-ticker.C:
		}
		if service != nil {
			if service.socket.inPlace() {
				continue
			}
			r.sidecars.log(SeverityWarning, fmt.Sprintf("%s is not this process's any more", r.path))
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
		again, err := r.serve()
		if err == nil {
			service, said = again, ""
		} else if text := err.Error(); text != said {
			said = text
			r.sidecars.log(SeverityError, text)
		}
	}
}

// health asks the registration service itself, as the kubelet does.
func (r *registrar) health(ctx context.Context) error {
	var info pluginInfo
	if err := call(ctx, r.path, "/pluginregistration.Registration/GetInfo", &info); err != nil {
		return fmt.Errorf("error getting info from the registration socket: %w", err)
	}
	if info.name != r.info.name {
		return fmt.Errorf("invalid driver name %s", info.name)
	}
	return nil
}
