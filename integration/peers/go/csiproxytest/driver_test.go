package csiproxytest_test

import (
	"context"
	"strings"

	"github.com/csi-proxy/csi-proxy/client/go/csiproxytest/v2"
	filesystemv1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	csiproxy "github.com/kubernetes-csi/csi-proxy/v2"
	storagev1alpha1 "github.com/kubernetes-csi/csi-proxy/v2/api/storage/v1alpha1"
	"google.golang.org/grpc"
)

// driver makes the calls of a node server that uses the storage group.
type driver struct {
	files   filesystemv1.FilesystemClient
	storage storagev1alpha1.StorageClient
}

func newDriver(conn grpc.ClientConnInterface) *driver {
	return &driver{filesystemv1.NewFilesystemClient(conn), storagev1alpha1.NewStorageClient(conn)}
}

// stage mounts the volume whose id is the disk's serial number, which AWS writes without dashes.
func (d *driver) stage(ctx context.Context, volume, staging string) error {
	_, err := d.storage.StageVolume(ctx, &storagev1alpha1.StageVolumeRequest{
		Disk: &storagev1alpha1.DiskSelector{SerialNumber: strings.ReplaceAll(volume, "-", "")}, TargetPath: staging})
	return err
}

// unstage unmounts the volume and takes its disk offline.
func (d *driver) unstage(ctx context.Context, staging string) error {
	_, err := d.storage.UnstageVolume(ctx, &storagev1alpha1.UnstageVolumeRequest{TargetPath: staging})
	return err
}

// publish links the pod's path to the staging path.
func (d *driver) publish(ctx context.Context, staging, target string) error {
	_, err := d.files.CreateSymlink(ctx, &filesystemv1.CreateSymlinkRequest{SourcePath: staging, TargetPath: target})
	return err
}

func (d *driver) unpublish(ctx context.Context, target string) error {
	_, err := d.files.Rmdir(ctx, &filesystemv1.RmdirRequest{Path: target, Force: true})
	return err
}

func (d *driver) stageShare(ctx context.Context, share, staging, username, password string) error {
	_, err := d.storage.StageShare(ctx, &storagev1alpha1.StageShareRequest{
		RemotePath: share, TargetPath: staging, Username: username, Password: password})
	return err
}

func (d *driver) unstageShare(ctx context.Context, staging string) error {
	_, err := d.storage.UnstageShare(ctx, &storagev1alpha1.UnstageShareRequest{TargetPath: staging})
	return err
}

// connect returns one connection to all groups of a node.
func connect(t csiproxytest.TB, node *csiproxytest.Node) grpc.ClientConnInterface {
	t.Helper()
	conn, err := csiproxy.Connect(csiproxy.Remote, csiproxy.WithSocketDir(node.SocketDir()))
	if err != nil {
		t.Fatalf("%v", err)
		return nil
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}
