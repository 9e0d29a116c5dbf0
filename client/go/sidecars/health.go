package sidecars

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// endpoint is an address where HTTP is served.
type endpoint struct {
	listener net.Listener
	server   *http.Server
	mux      *http.ServeMux
	patience time.Duration
}

type endpoints struct {
	byAddress map[string]*endpoint
	waiting   sync.WaitGroup
}

// listenHTTP opens the addresses of the two. r is nil if there is no registrar.
func (s *Sidecars) listenHTTP(r *registrar) (*endpoints, error) {
	all := &endpoints{byAddress: make(map[string]*endpoint)}
	probe := s.options.LivenessProbe
	if probe != nil {
		e, err := all.listen("LivenessProbe.HTTPEndpoint", probe.HTTPEndpoint, probe.ProbeTimeout)
		if err != nil {
			return nil, err
		}
		e.mux.HandleFunc("/healthz", s.liveness(probe))
		s.log(SeverityInfo, fmt.Sprintf("/healthz is served at %s", e.listener.Addr()))
	}
	if r == nil || r.options.HTTPEndpoint == "" {
		return all, nil
	}
	path := "/healthz"
	if all.byAddress[r.options.HTTPEndpoint] != nil {
		path = "/healthz/node-driver-registrar"
	}
	e, err := all.listen("Registrar.HTTPEndpoint", r.options.HTTPEndpoint, r.options.Timeout)
	if err != nil {
		all.stop()
		return nil, err
	}
	e.mux.HandleFunc(path, r.answerHealth)
	s.log(SeverityInfo, fmt.Sprintf("the registrar's %s is served at %s", path, e.listener.Addr()))
	return all, nil
}

func (e *endpoints) listen(option, address string, timeout time.Duration) (*endpoint, error) {
	if there := e.byAddress[address]; there != nil {
		if timeout > there.patience {
			there.patience = timeout
		}
		return there, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", option, err)
	}
	mux := http.NewServeMux()
	opened := &endpoint{
		listener: listener,
		mux:      mux,
		patience: timeout,
		server: &http.Server{
			Handler: mux,
			// The kubelet sends a few lines at once. Anybody who reaches the address can open connections:
			// limits bound the memory that each may take from the driver.
			ReadTimeout:    time.Second,
			MaxHeaderBytes: 16 << 10,
		},
	}
	opened.server.SetKeepAlivesEnabled(false)
	e.byAddress[address] = opened
	return opened, nil
}

// serve tells failed when one of them cannot go on.
func (e *endpoints) serve(failed chan<- error) {
	for _, one := range e.byAddress {
		one := one
		one.server.WriteTimeout = one.patience + time.Second
		e.waiting.Add(1)
		go func() {
			defer e.waiting.Done()
			if err := one.server.Serve(one.listener); !errors.Is(err, http.ErrServerClosed) {
				select {
				case failed <- fmt.Errorf("%s: %w", one.listener.Addr(), err):
				default:
				}
			}
		}()
	}
}

func (e *endpoints) stop() {
	for _, one := range e.byAddress {
		ctx, cancel := context.WithTimeout(context.Background(), one.patience)
		if one.server.Shutdown(ctx) != nil {
			one.server.Close()
		}
		cancel()
		// Shutdown does not know a listener that was never served.
		one.listener.Close()
	}
	e.waiting.Wait()
}

func answer(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text))
}

// liveness answers as livenessprobe does.
func (s *Sidecars) liveness(o *LivenessProbe) http.HandlerFunc {
	probe := func(ctx context.Context) (bool, error) { return probeDriver(ctx, s.csiPath) }
	if o.Probe != nil {
		probe = (&sharedProbe{probe: o.Probe, timeout: o.ProbeTimeout}).ask
	}
	return func(w http.ResponseWriter, request *http.Request) {
		ctx, cancel := context.WithTimeout(request.Context(), o.ProbeTimeout)
		defer cancel()
		ready, err := probe(ctx)
		if err == nil && !ready {
			err = errors.New("driver responded but is not ready")
		}
		if err != nil {
			if request.Context().Err() == nil {
				s.log(SeverityWarning, fmt.Sprintf("health check failed: %v", err))
			}
			answer(w, http.StatusInternalServerError, err.Error())
			return
		}
		answer(w, http.StatusOK, "ok")
	}
}

// sharedProbe lets a driver's function run once at a time, however long it takes and however many
// ask: one that hangs holds one goroutine.
type sharedProbe struct {
	probe   func(context.Context) (bool, error)
	timeout time.Duration

	mutex   sync.Mutex
	running *probeRun
}

type probeRun struct {
	done  chan struct{}
	ready bool
	err   error
}

func (p *sharedProbe) ask(ctx context.Context) (bool, error) {
	p.mutex.Lock()
	run := p.running
	if run == nil {
		run = &probeRun{done: make(chan struct{})}
		p.running = run
		go func() {
			// The context is not the first asker's, since others may wait for the same answer.
			ctx, cancel := context.WithTimeout(context.Background(), p.timeout)
			defer cancel()
			run.ready, run.err = p.probe(ctx)
			p.mutex.Lock()
			p.running = nil
			p.mutex.Unlock()
			close(run.done)
		}()
	}
	p.mutex.Unlock()
	select {
	case <-run.done:
		return run.ready, run.err
	case <-ctx.Done():
		return false, fmt.Errorf("the probe has not returned: %w", ctx.Err())
	}
}

// answerHealth answers as node-driver-registrar does.
func (r *registrar) answerHealth(w http.ResponseWriter, request *http.Request) {
	exists, err := socketExists(r.path)
	if err == nil && !exists {
		answer(w, http.StatusNotFound, "registration socket does not exist")
		return
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(request.Context(), r.options.Timeout)
		defer cancel()
		err = r.health(ctx)
	}
	if err != nil {
		answer(w, http.StatusInternalServerError, err.Error())
		return
	}
	answer(w, http.StatusOK, "ok")
}
