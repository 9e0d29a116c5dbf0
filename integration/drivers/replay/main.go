// Replays the calls of drivers whose code is not available as a Go module, in their order, with the released Go
// client.
package main

import (
	"context"
	"csi-proxy.example/integration/drivers/clients"
	"csi-proxy.example/integration/drivers/steps"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// players run each driver through its volumes' lives. onMachine is false for aws-ebs, which finds disks by
// serial number: a Windows machine has no disk with one.
var players = []struct {
	onMachine bool
	play      func(run *steps.Run, made *clients.Clients) error
}{{false, playEBS}, {true, playVSphere}, {true, playSMB}}

func main() {
	steps.Main(func(run *steps.Run) error {
		for _, player := range players {
			if run.OnMachine() && !player.onMachine {
				continue
			}
			if err := run.Start(""); err != nil {
				return err
			}
			made, err := newClients()
			if err != nil {
				return err
			}
			run.Ready = func() error { return ready(made) }
			if err := player.play(run, made); err != nil {
				return err
			}
		}
		return nil
	})
}

func playEBS(run *steps.Run, made *clients.Clients) error {
	life := &steps.BlockLife{Run: run, Driver: awsEBS(made), Traits: steps.BlockTraits{TakesOffline: true, LeavesFolder: true}}
	life.All("ebs.csi.aws.com", "v1.64.0, replayed")
	return nil
}

func playVSphere(run *steps.Run, made *clients.Clients) error {
	life := &steps.BlockLife{Run: run, Driver: vsphere(made, run),
		Traits: steps.BlockTraits{TakesOffline: true, FailsOnceUnmounted: true}}
	life.All("csi.vsphere.vmware.com", "v3.4, replayed")
	return nil
}

func playSMB(run *steps.Run, made *clients.Clients) error {
	driver := csiDriverSMB(made, run)
	run.Fresh = driver.Forget
	defer func() { run.Fresh = nil }()
	life := &steps.ShareLife{Run: run, RemovesMapping: true, Driver: driver, Recover: driver.count}
	life.All("smb.csi.k8s.io", "v1.20.0, replayed")
	return nil
}

type diskClient interface {
	disk.DiskClient
	Close() error
}

var background = context.Background()

// ready makes a call with each client. Returns nil if the service answers all of them.
func ready(c *clients.Clients) error {
	_, err := c.PathExists(`c:\var\lib\kubelet`)
	if err == nil {
		err = c.Rescan()
	}
	if err == nil {
		_, err = c.ListVolumesOnDisk(0, 0)
	}
	if err == nil {
		// Any answer shows that the service runs.
		err = c.RemoveSmbGlobalMapping(`\\none\none`)
		if status.Code(err) != codes.Unavailable {
			err = nil
		}
	}
	return err
}
