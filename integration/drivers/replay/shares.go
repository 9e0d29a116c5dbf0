package main

import (
	"csi-proxy.example/drivers/orders"
	"csi-proxy.example/drivers/steps"
	filesystembeta "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1beta1"
	smbbeta "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1beta1"
	"google.golang.org/grpc"
)

// trident is NetApp Trident with what the steps know of its volumes.
type trident struct{ *orders.Trident }

func (t trident) NodeStage(volume *steps.ShareVolume) error {
	return t.Stage(volume.Remote, steps.Normalize(volume.Stage), volume.User, volume.Password)
}

func (t trident) NodePublish(volume *steps.ShareVolume) error {
	return t.Publish(steps.Normalize(volume.Stage), steps.Normalize(volume.Target))
}

func (t trident) NodeUnpublish(volume *steps.ShareVolume) error {
	return t.Unpublish(steps.Normalize(volume.Target))
}

func (t trident) NodeUnstage(volume *steps.ShareVolume) error {
	return t.Unstage(steps.Normalize(volume.Stage))
}

func playTrident(run *steps.Run, made *clients) error {
	files, shares, err := newBeta1Clients()
	if err != nil {
		return err
	}
	run.Ready = made.ready
	driver := &orders.Trident{ShareNode: made, MkdirAll: run.MakeDirectory, Stat: run.ReadDir}
	run.Fresh = driver.Forget
	defer func() { run.Fresh = nil }()
	life := &steps.ShareLife{Run: run, Driver: trident{driver}, RemovesMapping: true, TakesMapping: true, LeavesLinks: true,
		Kills: steps.KillsSeldomOnLinux()}
	life.More = func(l *steps.ShareLife) {
		l.Step("the pipes of v1beta1, which the pod mounts beside v1, answer", func() error {
			// The connections are from before the service's last restart.
			anew := grpc.WaitForReady(true)
			_, err := files.PathExists(background, &filesystembeta.PathExistsRequest{
				Path: `C:\var\lib\kubelet\plugins`, Context: filesystembeta.PathContext_PLUGIN}, anew)
			if err != nil {
				return err
			}
			_, err = shares.RemoveSmbGlobalMapping(background, &smbbeta.RemoveSmbGlobalMappingRequest{RemotePath: `\\none\none`}, anew)
			return steps.Unreachable(err)
		})
	}
	life.All("csi.trident.netapp.io", "1fd8a6f, replayed")
	return nil
}

func playPortworx(run *steps.Run, made *clients) error {
	run.Ready = made.ready
	driver := csiDriverSMB(made, run)
	driver.ShareNode = orders.Portworx{ShareNode: made}
	run.Fresh = driver.Forget
	defer func() { run.Fresh = nil }()
	life := &steps.ShareLife{Run: run, Driver: driver, RemovesMapping: true, Recover: driver.count,
		Kills: steps.KillsNever}
	life.All("pxd.portworx.com", "695036f, replayed")
	return nil
}
