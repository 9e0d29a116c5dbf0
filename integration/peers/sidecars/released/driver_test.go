// Package released is a Go driver as there are many, with the released code of CSI, beside the
// released code of a kubelet: what client/go/sidecars writes and reads by hand is what they do, and
// the three live in one process.
package released

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/kubernetes-csi/csi-proxy/v2/sidecars"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

type identity struct {
	csi.UnimplementedIdentityServer
	probe atomic.Pointer[func() (*csi.ProbeResponse, error)]
}

func (*identity) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: "go.csi.example", VendorVersion: "1", Manifest: map[string]string{"a": "b"}}, nil
}

func (i *identity) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return (*i.probe.Load())()
}

func (i *identity) answer(response *csi.ProbeResponse, err error) {
	probe := func() (*csi.ProbeResponse, error) { return response, err }
	i.probe.Store(&probe)
}

func healthz(address string) string {
	response, err := http.Get("http://" + address + "/healthz")
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return fmt.Sprintf("%d %s", response.StatusCode, text)
}

func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

func TestADriverWithReleasedCode(t *testing.T) {
	directory := t.TempDir()
	listener, err := net.Listen("unix", filepath.Join(directory, "csi.sock"))
	if err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	driver := &identity{}
	driver.answer(&csi.ProbeResponse{}, nil)
	server := grpc.NewServer()
	csi.RegisterIdentityServer(server, driver)
	go server.Serve(listener)
	defer server.Stop()

	refused := make(chan string, 1)
	sc, err := sidecars.Start(t.Context(), sidecars.Options{
		CSIAddress: "unix://" + listener.Addr().String(),
		Registrar: &sidecars.Registrar{
			KubeletRegistrationPath: "/var/lib/kubelet/plugins/go.csi.example/csi.sock",
			PluginRegistrationPath:  directory,
		},
		LivenessProbe: &sidecars.LivenessProbe{HTTPEndpoint: address},
		OnRefused:     func(reason string) { refused <- reason },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer sc.Stop()

	path := filepath.Join(directory, "go.csi.example-reg.sock")
	await(t, "the registration socket", func() bool { _, err := os.Lstat(path); return err == nil })
	conn, err := grpc.NewClient("unix://"+path, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	kubelet := registration.NewRegistrationClient(conn)
	info, err := kubelet.GetInfo(t.Context(), &registration.InfoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if info.Type != registration.CSIPlugin || info.Name != "go.csi.example" ||
		info.Endpoint != "/var/lib/kubelet/plugins/go.csi.example/csi.sock" ||
		len(info.SupportedVersions) != 1 || info.SupportedVersions[0] != "1.0.0" {
		t.Errorf("%v", info)
	}
	notify := func(status *registration.RegistrationStatus) {
		if _, err := kubelet.NotifyRegistrationStatus(t.Context(), status); err != nil {
			t.Fatal(err)
		}
	}
	notify(&registration.RegistrationStatus{PluginRegistered: true})
	if !sc.Registered() {
		t.Error("is not registered")
	}
	notify(&registration.RegistrationStatus{Error: "no room"})
	if reason := <-refused; reason != "no room" || sc.Registered() {
		t.Errorf("%q", reason)
	}

	await(t, "/healthz", func() bool { return healthz(address) != "" })
	for _, c := range []struct {
		response *csi.ProbeResponse
		err      error
		want     string
	}{
		{&csi.ProbeResponse{}, nil, "200 ok"},
		{&csi.ProbeResponse{Ready: wrapperspb.Bool(true)}, nil, "200 ok"},
		{&csi.ProbeResponse{Ready: wrapperspb.Bool(false)}, nil, "500 driver responded but is not ready"},
		{nil, status.Error(codes.FailedPrecondition, "no disk"), "500 rpc error: code = FailedPrecondition desc = no disk"},
		{nil, errors.New("no code"), "500 rpc error: code = Unknown desc = no code"},
	} {
		driver.answer(c.response, c.err)
		if got := healthz(address); got != c.want {
			t.Errorf("%v, %v: %q, want %q", c.response, c.err, got, c.want)
		}
	}
	sc.Stop()
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket is left")
	}
}
