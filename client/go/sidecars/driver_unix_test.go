//go:build !windows

package sidecars

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// driver is a CSI driver's identity service.
type driver struct {
	path   string
	server *grpc.Server

	mutex    sync.Mutex
	name     string
	notReady bool
	// Until it is closed calls do not return.
	hang chan struct{}
	// The time that each call takes.
	slowness time.Duration
}

func newDriver(t testing.TB, name string) *driver {
	t.Helper()
	d := &driver{path: filepath.Join(t.TempDir(), "csi.sock"), name: name}
	d.serve(t)
	t.Cleanup(func() { d.setHang(nil); d.server.Stop() })
	return d
}

func (d *driver) serve(t testing.TB) {
	t.Helper()
	listener, err := net.Listen("unix", d.path)
	if err != nil {
		t.Fatal(err)
	}
	method := func(name string, answer func() message) grpc.MethodDesc {
		return grpc.MethodDesc{MethodName: name, Handler: func(_ interface{}, _ context.Context, decode func(interface{}) error, _ grpc.UnaryServerInterceptor) (interface{}, error) {
			if err := decode(&empty{}); err != nil {
				return nil, err
			}
			d.mutex.Lock()
			hang, slowness := d.hang, d.slowness
			d.mutex.Unlock()
			time.Sleep(slowness)
			if hang != nil {
				<-hang
			}
			d.mutex.Lock()
			defer d.mutex.Unlock()
			return answer(), nil
		}}
	}
	d.server = grpc.NewServer(grpc.ForceServerCodec(codec{}))
	d.server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "csi.v1.Identity",
		HandlerType: (*interface{})(nil),
		Methods: []grpc.MethodDesc{
			method("GetPluginInfo", func() message { return &driverInfo{d.name} }),
			method("Probe", func() message { return &probeResponse{d.notReady} }),
		},
	}, d)
	go d.server.Serve(listener)
}

func (d *driver) setReady(ready bool) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.notReady = !ready
}

// setHang lets calls hang that begin from now on, or all go on.
func (d *driver) setHang(hang chan struct{}) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.hang != nil {
		close(d.hang)
	}
	d.hang = hang
}

// kubelet makes one call to a registration socket, as a kubelet does.
func kubelet(path, method string, request, reply message) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := grpc.NewClient("unix://"+path, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Invoke(ctx, "/pluginregistration.Registration/"+method, request, reply, grpc.ForceCodec(codec{}))
}

func getInfo(t testing.TB, path string) pluginInfo {
	t.Helper()
	var info pluginInfo
	if err := kubelet(path, "GetInfo", &empty{}, &info); err != nil {
		t.Fatal(err)
	}
	return info
}

func notify(t testing.TB, path string, registered bool, reason string) {
	t.Helper()
	if err := kubelet(path, "NotifyRegistrationStatus", &registrationStatus{registered, reason}, &empty{}); err != nil {
		t.Fatal(err)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
