package main

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"time"

	csiproxy "github.com/kubernetes-csi/csi-proxy/v2"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
)

// start runs csi-proxy with a simulated node, on sockets of its own, until it is stopped.
func start(program string) (stop func(), err error) {
	directory, err := os.MkdirTemp("", "csi-proxy-calls")
	if err != nil {
		return nil, err
	}
	os.Setenv("CSI_PROXY_SOCKET_DIR", directory)
	command := exec.Command(program, "--host=simulated", "--socket-dir="+directory)
	if runtime.GOOS == "windows" {
		// Wine's user is not in the groups that the pipes are for.
		command = exec.Command(program, "--host=simulated", "--pipe-sddl=D:P(A;;GA;;;WD)")
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		command.Process.Kill()
		command.Wait()
		os.RemoveAll(directory)
	}
	if err := answers(); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// answers waits until the service does.
func answers() error {
	conn, err := csiproxy.Connect(csiproxy.Remote)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return conn.Invoke(ctx, "/csi_proxy.simulated.Admin/Reset", &emptypb.Empty{}, &emptypb.Empty{}, grpc.WaitForReady(true))
}
