// Drivers whose code is not to be had as a Go module: their calls, in their order, through the released Go
// client.
package main

import (
	"fmt"

	"csi-proxy.example/drivers/steps"
)

// player takes a driver through its volumes' lives by the clients, which it may add to.
type player struct {
	// The version of the client in the driver's go.mod.
	client string
	// Whether a Windows machine has what the driver's steps need.
	onMachine bool
	play      func(run *steps.Run, made *clients) error
}

// players are all that are replayed. A program has one version of the client, and plays the drivers of that
// version; run.sh builds one for each.
var players = []player{
	// It finds a disk by its serial number, which a virtual disk of Windows does not have.
	{"v1.3.0", false, playEBS},
	{"v1.3.0", true, playVSphere},
	{"v1.3.0", true, playSMB},
	{"v1.3.0", false, playTrident},
	{"v1.3.0", false, democratic},
	{"v1.0.2", false, func(run *steps.Run, _ *clients) error { return localStatic(run) }},
	{"v1.0.1", false, playPortworx},
}

func main() {
	steps.Main(func(run *steps.Run) error {
		client := steps.Version("github.com/kubernetes-csi/csi-proxy/client")
		played := false
		for _, player := range players {
			if player.client != client || run.OnMachine() && !player.onMachine {
				continue
			}
			if err := run.Start(""); err != nil {
				return err
			}
			made, err := newClients()
			if err != nil {
				return err
			}
			if err := player.play(run, made); err != nil {
				return err
			}
			played = true
		}
		if !played {
			return fmt.Errorf("no driver has the client %s", client)
		}
		return nil
	})
}

func playEBS(run *steps.Run, made *clients) error {
	run.Ready = made.ready
	life := &steps.BlockLife{Run: run, Driver: awsEBS(made), Traits: steps.BlockTraits{TakesOffline: true, LeavesFolder: true}}
	life.All("ebs.csi.aws.com", "v1.64.0, replayed")
	return nil
}

func playVSphere(run *steps.Run, made *clients) error {
	run.Ready = made.ready
	life := &steps.BlockLife{Run: run, Driver: vsphere(made, run),
		Traits: steps.BlockTraits{TakesOffline: true, FailsOnceUnmounted: true}}
	life.All("csi.vsphere.vmware.com", "v3.4, replayed")
	return nil
}

func playSMB(run *steps.Run, made *clients) error {
	run.Ready = made.ready
	driver := csiDriverSMB(made, run)
	run.Fresh = driver.Forget
	defer func() { run.Fresh = nil }()
	life := &steps.ShareLife{Run: run, RemovesMapping: true, Driver: driver, Recover: driver.count}
	life.All("smb.csi.k8s.io", "v1.20.0, replayed")
	return nil
}
