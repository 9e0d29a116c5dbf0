package main

import (
	"context"
	"fmt"
	"math"
	"sort"
	"sync"
	"time"

	"csi-proxy.example/integration/drivers/steps"
	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// honest runs eight clients that call continuously, each on its own connection. Like drivers, they use grpc-go
// without retries and without waiting for a connection.
type honest struct {
	mutex sync.Mutex
	times []time.Duration
	// For each client, the start of its latest answered call.
	served  [8]time.Time
	refused []error
	stop    context.CancelFunc
	all     sync.WaitGroup
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

func startHonest(redials bool) (*honest, error) {
	ctx, stop := context.WithCancel(context.Background())
	h := &honest{stop: stop}
	for i := 0; i < 8; i++ {
		api := []string{"filesystem-v1", "filesystem-v1", "disk-v1", "volume-v1"}[i%4]
		one, err := connect(api)
		if err != nil {
			return nil, err
		}
		var conn grpc.ClientConnInterface = one
		if redials {
			conn = redialler{api: api}
		}
		call := []func(ctx context.Context) error{
			func(ctx context.Context) error {
				_, err := filesystem.NewFilesystemClient(conn).PathExists(ctx, &filesystem.PathExistsRequest{Path: `C:\var\lib\kubelet`})
				return err
			},
			func(ctx context.Context) error {
				_, err := filesystem.NewFilesystemClient(conn).IsSymlink(ctx, &filesystem.IsSymlinkRequest{Path: `C:\var\lib\kubelet`})
				return err
			},
			func(ctx context.Context) error {
				_, err := disk.NewDiskClient(conn).ListDiskIDs(ctx, &disk.ListDiskIDsRequest{})
				return err
			},
			func(ctx context.Context) error {
				_, err := volume.NewVolumeClient(conn).ListVolumesOnDisk(ctx, &volume.ListVolumesOnDiskRequest{DiskNumber: 0})
				return err
			},
		}[i%4]
		h.all.Add(1)
		go func() {
			defer h.all.Done()
			defer one.Close()
			pause := 5 * time.Millisecond
			if redials {
				// The service bars a client that dials hundreds of times a second.
				pause = 250 * time.Millisecond
			} else {
				h.atOnce(i, call)
			}
			for ctx.Err() == nil {
				h.once(i, call)
				time.Sleep(pause)
			}
		}()
	}
	return h, nil
}

// atOnce makes 16 calls at a time for a second, as a driver does after a reboot. Afterwards the service has all
// threads that it starts for honest clients, each of which takes a megabyte under Wine.
func (h *honest) atOnce(client int, call func(ctx context.Context) error) {
	var all sync.WaitGroup
	for end, i := time.Now().Add(time.Second), 0; i < 16; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for time.Now().Before(end) {
				h.once(client, call)
			}
		}()
	}
	all.Wait()
}

func (h *honest) once(client int, call func(ctx context.Context) error) {
	// A background context, so that a call that has begun is answered.
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	began := time.Now()
	err := call(ctx)
	took := time.Since(began)
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.times = append(h.times, took)
	if err != nil {
		h.refused = append(h.refused, err)
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
	calls   int
	p99     time.Duration
	refused []error
}

// take returns what the clients observed since the last take.
func (h *honest) take() phase {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	p := phase{calls: len(h.times), refused: h.refused}
	sort.Slice(h.times, func(i, j int) bool { return h.times[i] < h.times[j] })
	if p.calls > 0 {
		p.p99 = h.times[int(math.Ceil(float64(p.calls)*0.99))-1]
	}
	h.times, h.refused = nil, nil
	return p
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
