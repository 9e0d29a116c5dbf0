package csiproxy

import (
	"context"
	"math/rand"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	diskv1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystemv1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Many goroutines call through one connection and cancel calls at any time, until it is closed.
func TestEmbeddedCloseDuringManyCalls(t *testing.T) {
	const rounds, callers = 5, 64
	var count [codes.Unauthenticated + 1]atomic.Int64
	for round := 0; round < rounds; round++ {
		log := new(recorder)
		conn := connectEmbedded(t, WithLog(log.log))
		slow(t, conn, "disk.*", 2*time.Millisecond)
		stop := time.Now().Add(500 * time.Millisecond)
		var running sync.WaitGroup
		for caller := 0; caller < callers; caller++ {
			running.Add(1)
			go func(random *rand.Rand) {
				defer running.Done()
				for time.Now().Before(stop.Add(50 * time.Millisecond)) {
					count[status.Code(randomCall(conn, random))].Add(1)
				}
			}(rand.New(rand.NewSource(int64(round*callers + caller))))
		}
		time.Sleep(time.Until(stop))
		for closer := 0; closer < 4; closer++ {
			running.Add(1)
			go func() {
				defer running.Done()
				conn.Close()
			}()
		}
		running.Wait()
	}
	var total int64
	for code := range count {
		n := count[code].Load()
		total += n
		switch codes.Code(code) {
		case codes.OK, codes.Canceled, codes.DeadlineExceeded:
			if n < rounds {
				t.Errorf("only %d calls ended with %v", n, codes.Code(code))
			}
		default:
			if n != 0 {
				t.Errorf("%d calls ended with %v", n, codes.Code(code))
			}
		}
	}
	t.Logf("%d calls", total)
}

// randomCall makes a call that may be cancelled.
func randomCall(conn *Conn, random *rand.Rand) error {
	ctx, cancel := context.Background(), context.CancelFunc(func() {})
	wait := time.Duration(random.Intn(4000)) * time.Microsecond
	switch random.Intn(3) {
	case 0:
		ctx, cancel = context.WithTimeout(ctx, wait)
	case 1:
		ctx, cancel = context.WithCancel(ctx)
		defer time.AfterFunc(wait, cancel).Stop()
	}
	defer cancel()
	if random.Intn(2) == 0 {
		_, err := diskv1.NewDiskClient(conn).Rescan(ctx, &diskv1.RescanRequest{})
		return err
	}
	_, err := filesystemv1.NewFilesystemClient(conn).PathExists(ctx, &filesystemv1.PathExistsRequest{Path: plugins})
	return err
}
