// Drivers whose code is not to be had as a Go module: their calls, in their order, through the released Go
// client.
package main

import "csi-proxy.example/drivers/steps"

func main() {
	steps.Main(func(run *steps.Run) error {
		if err := run.Start(""); err != nil {
			return err
		}
		made, err := newClients()
		if err != nil {
			return err
		}
		run.Ready = made.ready
		ebs := &steps.BlockLife{Run: run, Driver: awsEBS(made),
			Traits: steps.BlockTraits{TakesOffline: true, LeavesFolder: true}}
		// It finds a disk by its serial number, which a virtual disk of Windows does not have.
		if !run.OnMachine() {
			ebs.All("ebs.csi.aws.com", "v1.64.0, replayed")
		}

		vmware := &steps.BlockLife{Run: run, Driver: vsphere(made, run),
			Traits: steps.BlockTraits{TakesOffline: true, FailsOnceUnmounted: true}}
		vmware.All("csi.vsphere.vmware.com", "v3.4, replayed")

		driver := csiDriverSMB(made, run)
		run.Fresh = driver.Forget
		shares := &steps.ShareLife{Run: run, RemovesMapping: true, Driver: driver, Recover: driver.count}
		shares.All("smb.csi.k8s.io", "v1.20.0, replayed")
		return nil
	})
}
