package main

import (
	"csi-proxy.example/drivers/orders"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
)

func leadEBS(m *mounter) (steps, failed int) {
	d := &run{mounter: m, driver: "aws-ebs"}
	driver := orders.AWSEBS{Node: d, NotMounted: saysNotMounted}
	const (
		id     = "vol-0a1b2c3d4e5f60789"
		size   = 21474836480
		stage  = kubelet + `\plugins\kubernetes.io\csi\ebs.csi.aws.com\0123abcd\globalmount`
		pod    = kubelet + `\pods\6ad43b88\volumes\kubernetes.io~csi\pvc-1`
		target = pod + `\mount`
	)
	var first string
	for round := 0; round < rounds; round++ {
		if !d.step("NodeStage", driver.Stage(id, stage)) {
			break
		}
		volume, err := d.GetVolumeIDFromTargetPath(stage)
		if first == "" {
			first = volume
		}
		d.step("the same volume each time", want(volume, first, err))
		d.step("NodeStage again", driver.Stage(id, stage))
		// The kubelet makes this directory.
		d.step("the pod's directory", d.Mkdir(pod))
		d.step("NodePublish", driver.Publish(stage, target))
		d.step("NodePublish again", driver.Publish(stage, target))
		link, err := d.IsSymlink(target)
		d.step("the target is a link", want(link, true, err))
		d.lookAtPaths(stage, target, pod)
		exists, err := d.PathExists(target)
		d.step("NodeGetVolumeStats", want(exists, true, err))
		at, err := d.GetVolumeIDFromTargetPath(target)
		d.step("the volume behind the target", want(at, first, err))
		d.step("NodeExpand", driver.Expand(id, target, size))
		now, err := d.GetDiskStats(2)
		d.step("the disk's size", want(now, size, err))
		d.step("NodeUnpublish", driver.Unpublish(target))
		d.step("NodeUnpublish again", driver.Unpublish(target))
		d.step("NodeUnstage", driver.Unstage(stage))
		exists, err = d.PathExists(stage)
		d.step("nothing is left", want(exists, false, err))
		d.step("NodeUnstage again", driver.Unstage(stage))
		state, err := d.disks.GetDiskState(background, &disk.GetDiskStateRequest{DiskNumber: 2})
		if err == nil {
			err = want(state.IsOnline, false, nil)
		}
		d.step("the disk is offline", err)
	}
	_, err := driver.Find("vol-0000000000000dead")
	d.step("a volume that is not attached", want(err != nil, true, nil))
	return d.steps, d.failed
}
