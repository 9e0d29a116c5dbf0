package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
)

// eventually repeats what Windows may not be ready for yet, as kubelet repeats a call.
func eventually(do func() error) error {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		if err := do(); err == nil || time.Now().After(end) {
			return err
		}
	}
}

// ebs is pkg/driver/node.go and pkg/mounter/mount_windows.go with mount_windows_proxyV2.go.
type ebs struct{ *run }

func (d ebs) find(id string) (uint32, error) {
	listed, err := d.disks.ListDiskIDs(background, &disk.ListDiskIDsRequest{})
	if err != nil {
		return 0, err
	}
	for number, ids := range listed.DiskIDs {
		if strings.Contains(ids.SerialNumber, strings.ReplaceAll(id, "-", "")) {
			return number, nil
		}
	}
	return 0, errors.New("no disk has the volume's id")
}

// deviceAt is GetDeviceNameFromMount.
func (d ebs) deviceAt(path string) (number uint32, mounted bool, err error) {
	id, err := d.volumeAt(path)
	if err == nil {
		number, err = d.diskOf(id)
	}
	if err != nil && saysNotMounted(err) {
		return 0, false, nil
	}
	return number, err == nil, err
}

func (d ebs) stage(id, path string) error {
	number, err := d.find(id)
	if err != nil {
		return err
	}
	exists, err := d.pathExists(path)
	if err != nil {
		return err
	}
	if !exists {
		if err := d.mkdir(path); err != nil {
			return err
		}
	}
	at, mounted, err := d.deviceAt(path)
	if err != nil || mounted && at == number {
		return err
	}
	if err := d.formatAndMount(number, path); err != nil {
		return err
	}
	if err := d.rescan(); err != nil {
		return err
	}
	size, err := d.diskSize(number)
	if err != nil {
		return err
	}
	volume, err := d.volumeAt(path)
	if err != nil {
		return err
	}
	total, _, err := d.volumeStats(volume)
	if err != nil || size <= total+4096 {
		return err
	}
	return d.grow(path)
}

func (d ebs) grow(path string) error {
	if err := d.rescan(); err != nil {
		return err
	}
	id, err := d.volumeAt(path)
	if err != nil {
		return err
	}
	return d.resize(id)
}

func (d ebs) publish(stage, target string) error {
	exists, err := d.pathExists(target)
	if err != nil {
		return err
	}
	if exists {
		if err := d.rmdir(target); err != nil {
			return err
		}
	}
	if exists, err = d.pathExists(target); err != nil {
		return err
	}
	if exists {
		if mounted, err := d.isSymlink(target); err != nil || mounted {
			return err
		}
	}
	return d.createSymlink(stage, target)
}

func (d ebs) expand(id, path string, wanted int64) error {
	_, mounted, err := d.deviceAt(path)
	if err != nil {
		return err
	}
	if !mounted {
		return fmt.Errorf("%s is not mounted", path)
	}
	number, err := d.find(id)
	if err != nil {
		return err
	}
	if err := d.grow(path); err != nil {
		return err
	}
	size, err := d.diskSize(number)
	return want(size, wanted, err)
}

func (d ebs) unstage(path string) error {
	_, mounted, err := d.deviceAt(path)
	if err != nil || !mounted {
		return err
	}
	return d.unmount(path)
}

func leadEBS(m *mounter) (steps, failed int) {
	d := ebs{&run{mounter: m, driver: "aws-ebs"}}
	const (
		id     = "vol-0a1b2c3d4e5f60789"
		size   = 21474836480
		stage  = kubelet + `\plugins\kubernetes.io\csi\ebs.csi.aws.com\0123abcd\globalmount`
		pod    = kubelet + `\pods\6ad43b88\volumes\kubernetes.io~csi\pvc-1`
		target = pod + `\mount`
	)
	var first string
	for round := 0; round < rounds; round++ {
		if !d.step("NodeStage", d.stage(id, stage)) {
			break
		}
		volume, err := d.volumeAt(stage)
		if first == "" {
			first = volume
		}
		d.step("the same volume each time", want(volume, first, err))
		d.step("NodeStage again", d.stage(id, stage))
		// What kubelet does.
		d.step("the pod's directory", d.mkdir(pod))
		d.step("NodePublish", d.publish(stage, target))
		d.step("NodePublish again", d.publish(stage, target))
		link, err := d.isSymlink(target)
		d.step("the target is a link", want(link, true, err))
		d.lookAtPaths(stage, target, pod)
		exists, err := d.pathExists(target)
		d.step("NodeGetVolumeStats", want(exists, true, err))
		at, err := d.volumeAt(target)
		d.step("the volume behind the target", want(at, first, err))
		d.step("NodeExpand", d.expand(id, target, size))
		d.step("NodeUnpublish", d.rmdir(target))
		d.step("NodeUnpublish again", d.rmdir(target))
		d.step("NodeUnstage", d.unstage(stage))
		exists, err = d.pathExists(stage)
		d.step("nothing is left", want(exists, false, err))
		d.step("NodeUnstage again", d.unstage(stage))
		state, err := d.disks.GetDiskState(background, &disk.GetDiskStateRequest{DiskNumber: 2})
		if err == nil {
			err = want(state.IsOnline, false, nil)
		}
		d.step("the disk is offline", err)
	}
	_, err := d.find("vol-0000000000000dead")
	d.step("a volume that is not attached", want(err != nil, true, nil))
	return d.steps, d.failed
}
