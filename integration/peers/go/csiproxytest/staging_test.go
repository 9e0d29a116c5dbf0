package csiproxytest_test

import (
	"context"
	"testing"

	"github.com/csi-proxy/csi-proxy/client/go/csiproxytest/v2"
	storage "github.com/kubernetes-csi/csi-proxy/v2/api/storage/v1alpha1"
)

// Runs NodeStageVolume and NodeUnstageVolume with the disk selector of each driver. Each call is
// made twice, as the kubelet repeats them, and the node restarts in between.
func TestADriversVolumeByTwoCalls(t *testing.T) {
	for driver, c := range map[string]struct {
		disk csiproxytest.Disk
		by   *storage.DiskSelector
	}{
		"aws-ebs": {csiproxytest.Disk{SerialNumber: "vol0123456789abcdef0"},
			&storage.DiskSelector{SerialNumber: "vol0123456789abcdef0"}},
		"azuredisk": {csiproxytest.Disk{Location: "Integrated : Adapter 1 : Port 0 : Target 0 : LUN 7", Offline: true, ReadOnly: true},
			&storage.DiskSelector{LunId: "7"}},
		"gcp-pd": {csiproxytest.Disk{Page83: "Google  pvc-7"}, &storage.DiskSelector{Page83: "Google  pvc-7"}},
		"vsphere": {csiproxytest.Disk{Page83: "6000c29f0e7c1a2b3d4e5f6071829304"},
			&storage.DiskSelector{Page83: "6000c29f0e7c1a2b3d4e5f6071829304"}},
	} {
		c, disk := c, c.disk
		disk.SizeBytes = 10 << 30
		// An attached disk appears after a rescan, which StageVolume does.
		disk.AwaitsRescan = true
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			node := csiproxytest.NewNode(t, "")
			client, ctx := storage.NewStorageClient(connect(t, node)), context.Background()
			number := node.AttachDisk(disk)
			stage := func() *storage.StageVolumeResponse {
				t.Helper()
				response, err := client.StageVolume(ctx, &storage.StageVolumeRequest{Disk: c.by, TargetPath: staging})
				if err != nil {
					t.Fatal(err)
				}
				return response
			}
			first := stage()
			if first.DiskNumber != number || first.Steps[0] != storage.StorageStep_RESCANNED {
				t.Errorf("staged disk %d by %v, want %d", first.DiskNumber, first.Steps, number)
			}
			node.AssertMounted(staging, first.VolumeId)
			node.AssertOnline(number)
			if again := stage(); len(again.Steps) != 0 || again.VolumeId != first.VolumeId {
				t.Errorf("staged again: %v", again)
			}
			node.Reboot()
			stage()
			node.AssertMounted(staging, first.VolumeId)
			for i := 0; i < 2; i++ {
				if _, err := client.UnstageVolume(ctx, &storage.UnstageVolumeRequest{TargetPath: staging}); err != nil {
					t.Fatal(err)
				}
				node.AssertAbsent(staging)
				node.AssertOffline(number)
			}
		})
	}
}

// The mapping of a share with two volumes is removed with the last of them.
func TestASharesVolumesByTwoCallsEach(t *testing.T) {
	node := csiproxytest.NewNode(t, "")
	client, ctx := storage.NewStorageClient(connect(t, node)), context.Background()
	targets := []string{staging, `C:\var\lib\kubelet\plugins\kubernetes.io\csi\pvc-2\globalmount`}
	stage := func(target string) []storage.StorageStep {
		t.Helper()
		response, err := client.StageShare(ctx, &storage.StageShareRequest{RemotePath: `\\fileserver.example\data\reports`,
			TargetPath: target, Username: `EXAMPLE\storage`, Password: "correct horse"})
		if err != nil {
			t.Fatal(err)
		}
		return response.Steps
	}
	mappings := func() int {
		t.Helper()
		response, err := client.ListSmbMappings(ctx, &storage.ListSmbMappingsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return len(response.Mappings)
	}
	for _, target := range targets {
		stage(target)
		if again := stage(target); len(again) != 0 {
			t.Errorf("staged again: %v", again)
		}
	}
	node.Reboot()
	for _, target := range targets {
		stage(target)
	}
	for left := 1; left >= 0; left-- {
		for i := 0; i < 2; i++ {
			_, err := client.UnstageShare(ctx, &storage.UnstageShareRequest{TargetPath: targets[left]})
			if err != nil {
				t.Fatal(err)
			}
			node.AssertAbsent(targets[left])
			if mappings() != left {
				t.Errorf("%d mappings, want %d", mappings(), left)
			}
		}
	}
}
