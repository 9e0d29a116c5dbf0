package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
)

// vsphere is pkg/csi/service/osutils/windows_os_utils.go with mounter/mounter_windows.go.
type vsphere struct{ *run }

func (d vsphere) uuid() (string, error) {
	r, err := d.system.GetBIOSSerialNumber(background, &system.GetBIOSSerialNumberRequest{})
	if err != nil {
		return "", err
	}
	serial := strings.TrimSpace(r.SerialNumber)
	if !strings.HasPrefix(serial, "VMware-") {
		return "", fmt.Errorf("%q", serial)
	}
	return strings.NewReplacer(" ", "", "-", "").Replace(strings.TrimPrefix(serial, "VMware-")), nil
}

func (d vsphere) find(page83 string) (uint32, error) {
	listed, err := d.disks.ListDiskIDs(background, &disk.ListDiskIDsRequest{})
	if err != nil {
		return 0, err
	}
	for number, ids := range listed.DiskIDs {
		if ids.Page83 == page83 {
			return number, nil
		}
	}
	return 0, errors.New("no disk has the page 83 id")
}

func (d vsphere) stage(page83, path string) error {
	exists, err := d.pathExists(path)
	if err != nil {
		return err
	}
	if !exists {
		return errors.New("FailedPrecondition")
	}
	number, err := d.find(page83)
	if err != nil {
		return err
	}
	return d.formatAndMount(number, path)
}

func (d vsphere) publish(stage, target string) error {
	exists, err := d.pathExists(target)
	if err != nil {
		return err
	}
	if exists {
		if err := d.rmdir(target); err != nil {
			return err
		}
	}
	if err := d.mkdir(target[:strings.LastIndexByte(target, '\\')]); err != nil {
		return err
	}
	return d.createSymlink(stage, target)
}

func (d vsphere) expand(path string, requested int64) error {
	id, err := d.volumeAt(path)
	if err != nil {
		return err
	}
	total, _, err := d.volumeStats(id)
	if err != nil {
		return err
	}
	if err := d.rescan(); err != nil {
		return err
	}
	number, err := d.diskOf(id)
	if err != nil {
		return err
	}
	size, err := d.diskSize(number)
	if err != nil || total > size {
		return fmt.Errorf("%d bytes on a disk of %d: %v", total, size, err)
	}
	if requested-size < 1<<20 {
		return nil
	}
	if err := d.setOnline(number, true); err != nil {
		return err
	}
	return d.resize(id)
}

func (d vsphere) unstage(path string) error {
	exists, err := d.pathExists(path)
	if err != nil || !exists {
		return err
	}
	return d.unmount(path)
}

func leadVSphere(m *mounter) (steps, failed int) {
	d := vsphere{&run{mounter: m, driver: "vsphere"}}
	const (
		page83 = "60022480a1b2c3d4e5f60718293a4b5c"
		size   = 10737418240
		stage  = kubelet + `\plugins\kubernetes.io\csi\csi.vsphere.vmware.com\4567cdef\globalmount`
		target = kubelet + `\pods\7be54c99\volumes\kubernetes.io~csi\pvc-2\mount`
	)
	uuid, err := d.uuid()
	d.step("NodeGetInfo", want(uuid, "421a7c2e904d115fb38e6a00279cd451", err))
	d.lookAtDevices(1, page83)
	d.step("NodeStage without its directory", want(d.stage(page83, stage) != nil, true, nil))
	for round := 0; round < rounds; round++ {
		// What kubelet does.
		d.step("the staging directory", d.mkdir(stage))
		if !d.step("NodeStage", d.stage(page83, stage)) {
			break
		}
		d.step("NodePublish", d.publish(stage, target))
		d.step("NodePublish again", d.publish(stage, target))
		id, err := d.volumeAt(stage)
		d.step("the volume", err)
		total, used, err := d.volumeStats(id)
		if err == nil && (total <= 0 || total > size || used < 0 || used > total) {
			err = fmt.Errorf("%d of %d bytes used", used, total)
		}
		d.step("NodeGetVolumeStats", err)
		d.step("NodeExpand", d.expand(stage, size))
		d.step("NodeExpand to more", d.expand(stage, size+(1<<30)))
		d.step("NodeUnpublish", d.rmdir(target))
		d.step("NodeUnpublish again", d.rmdir(target))
		d.step("NodeUnstage", d.unstage(stage))
		d.step("NodeUnstage again", d.unstage(stage))
	}
	return d.steps, d.failed
}
