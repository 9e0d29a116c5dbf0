// The Go package sidecars, for the driver at a socket, until SIGTERM.
//
//	godriver CSI_SOCKET REGISTRATIONS HTTP_ENDPOINT [REGISTRATION_TIMEOUT]
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/sidecars"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	registrationTimeout := time.Duration(0)
	if len(os.Args) > 4 {
		var err error
		if registrationTimeout, err = time.ParseDuration(os.Args[4]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	failed := make(chan error, 1)
	running, err := sidecars.Start(ctx, sidecars.Options{
		CSIAddress: os.Args[1],
		Registrar: &sidecars.Registrar{
			KubeletRegistrationPath: os.Args[1],
			PluginRegistrationPath:  os.Args[2],
			RegistrationTimeout:     registrationTimeout,
		},
		LivenessProbe: &sidecars.LivenessProbe{HTTPEndpoint: os.Args[3]},
		OnFailed:      func(err error) { failed <- err },
	})
	if err == nil {
		select {
		case <-ctx.Done():
		case err = <-failed:
		}
		running.Stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
