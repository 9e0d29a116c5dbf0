package main

import (
	"fmt"

	"csi-proxy.example/drivers/orders"
	"csi-proxy.example/drivers/steps"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	filesystembeta2 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1beta2"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	volumebeta2 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1beta2"
)

// localV1 makes the provisioner's calls in v1.
type localV1 struct {
	volumes volume.VolumeClient
	files   filesystem.FilesystemClient
}

func (c *localV1) GetVolumeID(path string) (string, error) {
	out, err := c.volumes.GetVolumeIDFromTargetPath(background, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	return out.GetVolumeId(), err
}

func (c *localV1) GetVolumeStats(id string) (total, used int64, err error) {
	out, err := c.volumes.GetVolumeStats(background, &volume.GetVolumeStatsRequest{VolumeId: id})
	return out.GetTotalBytes(), out.GetUsedBytes(), err
}

func (c *localV1) FormatVolume(id string) error {
	_, err := c.volumes.FormatVolume(background, &volume.FormatVolumeRequest{VolumeId: id})
	return err
}

func (c *localV1) IsSymlink(path string) (bool, error) {
	out, err := c.files.IsSymlink(background, &filesystem.IsSymlinkRequest{Path: path})
	return out.GetIsSymlink(), err
}

// localV1Beta makes them in v1beta2.
type localV1Beta struct {
	volumes volumebeta2.VolumeClient
	files   filesystembeta2.FilesystemClient
}

func (c *localV1Beta) GetVolumeID(path string) (string, error) {
	out, err := c.volumes.GetVolumeIDFromMount(background, &volumebeta2.VolumeIDFromMountRequest{Mount: path})
	return out.GetVolumeId(), err
}

func (c *localV1Beta) GetVolumeStats(id string) (total, used int64, err error) {
	out, err := c.volumes.VolumeStats(background, &volumebeta2.VolumeStatsRequest{VolumeId: id})
	return out.GetVolumeSize(), out.GetVolumeUsedSize(), err
}

func (c *localV1Beta) FormatVolume(id string) error {
	_, err := c.volumes.FormatVolume(background, &volumebeta2.FormatVolumeRequest{VolumeId: id})
	return err
}

func (c *localV1Beta) IsSymlink(path string) (bool, error) {
	out, err := c.files.IsSymlink(background, &filesystembeta2.IsSymlinkRequest{Path: path})
	return out.GetIsSymlink(), err
}

// newLocalVolumes prefers v1, as the provisioner does.
func newLocalVolumes() (orders.LocalVolumes, error) {
	if made, err := newLocalV1(); err == nil {
		return made, nil
	}
	return newLocalV1Beta()
}

// localStatic is the provisioner on a node with all versions, and on one without v1.
func localStatic(run *steps.Run) error {
	flags := steps.ServiceFlags
	defer func() { steps.ServiceFlags = flags }()
	for _, node := range []struct {
		name  string
		flags []string
		made  string
	}{
		{"local-static", nil, "*main.localV1"},
		{"local-static (beta)", []string{"--api-versions=volume/v1beta2,filesystem/v1beta2"}, "*main.localV1Beta"},
	} {
		steps.ServiceFlags = append(flags[:len(flags):len(flags)], node.flags...)
		if err := run.Start(""); err != nil {
			return err
		}
		made, err := newLocalVolumes()
		if err != nil {
			return err
		}
		if got := fmt.Sprintf("%T", made); got != node.made {
			return fmt.Errorf("the provisioner chose %s, not %s", got, node.made)
		}
		run.Ready = func() error {
			_, err := made.IsSymlink(`C:\var\lib\kubelet`)
			if steps.Unreachable(err) != nil {
				return err
			}
			_, err = made.GetVolumeID(`C:\var\lib\kubelet`)
			return steps.Unreachable(err)
		}
		(&steps.LocalLife{Run: run, Driver: orders.LocalStatic{LocalVolumes: made}}).All(node.name, "f8de8e6, replayed")
	}
	return nil
}
