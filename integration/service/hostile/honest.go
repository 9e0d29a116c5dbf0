package main

import (
	"context"
	"fmt"
	"math"
	"path"
	"slices"
	"sync"
	"time"

	"csi-proxy.example/integration/drivers/steps"
	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// honest runs clients that call continuously, each on its own connection. Like drivers, they use grpc-go without
// retries and without waiting for a connection.
type honest struct {
	mutex sync.Mutex
	times []sample
	// For each client, the start of its latest answered call.
	served []time.Time
	// The calls under way, with their start.
	running map[*step]time.Time
	refused []error
	stop    context.CancelFunc
	all     sync.WaitGroup
}

// sample is the duration of a call.
type sample struct {
	call string
	took time.Duration
}

// step is a call of an honest client.
type step struct {
	call string
	do   func(ctx context.Context, conn grpc.ClientConnInterface) error
}

// client is an honest client of an API such as `disk-v1`. It takes its steps in turn, again and again.
type client struct {
	api   string
	steps []step
}

// patience is the deadline of each call; a call that exceeds it counts as refused.
var patience = 10 * time.Second

// connect opens the pipe of an API such as `disk-v1`.
func connect(api string, options ...grpc.DialOption) (*grpc.ClientConn, error) {
	return grpc.Dial(steps.PipePath("csi-proxy-"+api), append([]grpc.DialOption{grpc.WithContextDialer(steps.DialPipe),
		grpc.WithTransportCredentials(insecure.NewCredentials())}, options...)...)
}

// redialler dials for each call.
type redialler struct {
	grpc.ClientConnInterface
	api string
}

func (r redialler) Invoke(ctx context.Context, method string, in, out any, options ...grpc.CallOption) error {
	conn, err := connect(r.api)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Invoke(ctx, method, in, out, options...)
}

// invokes makes a step of a method such as `/v1.Disk/Rescan`. The content of the answer is ignored.
func invokes(method string, request proto.Message) step {
	return step{path.Base(method), func(ctx context.Context, conn grpc.ClientConnInterface) error {
		return conn.Invoke(ctx, method, request, new(emptypb.Empty))
	}}
}

// eight returns the clients with which most attacks are measured.
func eight() []client {
	four := []client{
		{"filesystem-v1", []step{invokes(pathExists, &filesystem.PathExistsRequest{Path: root})}},
		{"filesystem-v1", []step{invokes("/v1.Filesystem/IsSymlink", &filesystem.IsSymlinkRequest{Path: root})}},
		{"disk-v1", []step{invokes("/v1.Disk/ListDiskIDs", &disk.ListDiskIDsRequest{})}},
		{"volume-v1", []step{invokes("/v1.Volume/ListVolumesOnDisk", &volume.ListVolumesOnDiskRequest{DiskNumber: 0})}},
	}
	return append(four, four...)
}

func startHonest(clients []client, redials bool) (*honest, error) {
	ctx, stop := context.WithCancel(context.Background())
	h := &honest{stop: stop, served: make([]time.Time, len(clients)), running: map[*step]time.Time{}}
	for i, client := range clients {
		one, err := connect(client.api)
		if err != nil {
			return nil, err
		}
		var conn grpc.ClientConnInterface = one
		if redials {
			conn = redialler{api: client.api}
		}
		h.all.Add(1)
		go func() {
			defer h.all.Done()
			defer one.Close()
			pause := 5 * time.Millisecond
			if redials {
				// The service bars a client that dials hundreds of times a second.
				pause = 250 * time.Millisecond
			} else if len(client.steps) == 1 {
				h.atOnce(i, client.steps[0], conn)
			}
			for ctx.Err() == nil {
				for _, step := range client.steps {
					h.once(i, step, conn)
					time.Sleep(pause)
				}
			}
		}()
	}
	return h, nil
}

// atOnce makes 16 calls at a time for a second, as a driver does after a reboot. Afterwards the service has all
// threads that it starts for honest clients, each of which takes a megabyte under Wine.
func (h *honest) atOnce(client int, step step, conn grpc.ClientConnInterface) {
	var all sync.WaitGroup
	for end, i := time.Now().Add(time.Second), 0; i < 16; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for time.Now().Before(end) {
				h.once(client, step, conn)
			}
		}()
	}
	all.Wait()
}

func (h *honest) once(client int, step step, conn grpc.ClientConnInterface) {
	// A background context, so that a call that has begun is answered.
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	began := time.Now()
	h.mutex.Lock()
	h.running[&step] = began
	h.mutex.Unlock()
	err := step.do(ctx, conn)
	took := time.Since(began)
	h.mutex.Lock()
	defer h.mutex.Unlock()
	delete(h.running, &step)
	h.times = append(h.times, sample{step.call, took})
	if err != nil {
		h.refused = append(h.refused, fmt.Errorf("%s: %w", step.call, err))
	} else if began.After(h.served[client]) {
		h.served[client] = began
	}
}

// unanswered returns the number of clients without an answer to any call begun after since.
func (h *honest) unanswered(since time.Time) (clients int) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, served := range h.served {
		if served.Before(since) {
			clients++
		}
	}
	return clients
}

// phase is what the clients observed during one phase of the measurement.
type phase struct {
	times   []sample // sorted
	p99     time.Duration
	refused []error
}

// take returns what the clients observed since the last take.
func (h *honest) take() phase {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	p := phase{times: h.times, refused: h.refused}
	// A call under way counts if it has lasted longer than any finished call of its kind, so that a call without an
	// answer is not overlooked.
	for step, began := range h.running {
		lasts := sample{step.call, time.Since(began)}
		if !slices.ContainsFunc(h.times, func(one sample) bool { return one.call == lasts.call && one.took >= lasts.took }) {
			p.times = append(p.times, lasts)
		}
	}
	slices.SortFunc(p.times, func(a, b sample) int { return int(a.took - b.took) })
	p.p99 = p.quantile(0.99, "")
	h.times, h.refused = nil, nil
	return p
}

// quantile returns the duration that the given part of the calls does not exceed. An empty name stands for all calls.
func (p phase) quantile(part float64, call string) time.Duration {
	var times []time.Duration
	for _, one := range p.times {
		if call == "" || one.call == call {
			times = append(times, one.took)
		}
	}
	if len(times) == 0 {
		return 0
	}
	return times[int(math.Ceil(float64(len(times))*part))-1]
}

func (h *honest) end() {
	h.stop()
	h.all.Wait()
}

func (p phase) String() string {
	text := fmt.Sprintf("%.1f", float64(p.p99.Microseconds())/1000)
	if len(p.refused) > 0 {
		text += fmt.Sprintf(" (%d refused)", len(p.refused))
	}
	return text
}
