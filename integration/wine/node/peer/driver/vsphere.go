package main

import (
	"fmt"
	"strings"

	"csi-proxy.example/drivers/orders"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
)

func (r *run) uuid() (string, error) {
	answer, err := r.system.GetBIOSSerialNumber(background, &system.GetBIOSSerialNumberRequest{})
	if err != nil {
		return "", err
	}
	serial := strings.TrimSpace(answer.SerialNumber)
	if !strings.HasPrefix(serial, "VMware-") {
		return "", fmt.Errorf("%q", serial)
	}
	return strings.NewReplacer(" ", "", "-", "").Replace(strings.TrimPrefix(serial, "VMware-")), nil
}

func leadVSphere(m *mounter) (steps, failed int) {
	d := &run{mounter: m, driver: "vsphere"}
	// Nothing is mounted where it stages first.
	driver := orders.VSphere{Node: d, Look: func(string) (bool, bool, error) { return false, false, nil }}
	const (
		page83 = "60022480a1b2c3d4e5f60718293a4b5c"
		size   = 10737418240
		stage  = kubelet + `\plugins\kubernetes.io\csi\csi.vsphere.vmware.com\4567cdef\globalmount`
		target = kubelet + `\pods\7be54c99\volumes\kubernetes.io~csi\pvc-2\mount`
	)
	uuid, err := d.uuid()
	d.step("NodeGetInfo", want(uuid, "421a7c2e904d115fb38e6a00279cd451", err))
	d.lookAtDevices(1, page83)
	d.step("NodeStage without its directory", want(driver.Stage(page83, stage) != nil, true, nil))
	for round := 0; round < rounds; round++ {
		// The kubelet makes this directory.
		d.step("the staging directory", d.Mkdir(stage))
		if !d.step("NodeStage", driver.Stage(page83, stage)) {
			break
		}
		d.step("NodePublish", driver.Publish(stage, target))
		d.step("NodePublish again", driver.Publish(stage, target))
		id, err := d.GetVolumeIDFromTargetPath(stage)
		d.step("the volume", err)
		total, used, err := d.GetVolumeStats(id)
		if err == nil && (total <= 0 || total > size || used < 0 || used > total) {
			err = fmt.Errorf("%d of %d bytes used", used, total)
		}
		d.step("NodeGetVolumeStats", err)
		d.step("NodeExpand", driver.Expand("", stage, size))
		d.step("NodeExpand to more", driver.Expand("", stage, size+(1<<30)))
		d.step("NodeUnpublish", driver.Unpublish(target))
		d.step("NodeUnpublish again", driver.Unpublish(target))
		d.step("NodeUnstage", driver.Unstage(stage))
		d.step("NodeUnstage again", driver.Unstage(stage))
	}
	return d.steps, d.failed
}
