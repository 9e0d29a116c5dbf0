package e2e

import (
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/apimachinery/pkg/api/resource"
	storage "k8s.io/kubernetes/test/e2e/storage/framework"
)

// TestDefinitionIsTheDriver compares driver.yaml with the answers of the driver at CSI_ENDPOINT. Of
// persistence, exec, multipods, multiplePVsSameID, fsGroup and seLinuxMount CSI tells nothing.
func TestDefinitionIsTheDriver(t *testing.T) {
	endpoint := os.Getenv("CSI_ENDPOINT")
	if endpoint == "" {
		t.Fatal("CSI_ENDPOINT is not set")
	}
	conn, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx := t.Context()
	controller := csi.NewControllerClient(conn)
	identity := csi.NewIdentityClient(conn)
	info := readDefinition(t).DriverInfo

	plugin, err := identity.GetPluginInfo(ctx, &csi.GetPluginInfoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if plugin.GetName() != info.Name {
		t.Errorf("driver.yaml names %s, not %s", info.Name, plugin.GetName())
	}
	node, err := csi.NewNodeClient(conn).NodeGetInfo(ctx, &csi.NodeGetInfoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if keys := slices.Sorted(maps.Keys(node.GetAccessibleTopology().GetSegments())); !slices.Equal(keys, info.TopologyKeys) {
		t.Errorf("driver.yaml has the topology keys %q, not %q", info.TopologyKeys, keys)
	}

	driver := pluginCapabilities(t, identity)
	maps.Copy(driver, rpcCapabilities(t, controller, csi.NewNodeClient(conn)))
	maps.Copy(driver, volumeCapabilities(t, controller, info))
	driver[storage.CapVolumeLimits] = node.GetMaxVolumesPerNode() > 0
	for capability, has := range driver {
		if info.Capabilities[capability] != has {
			t.Errorf("%s is %t in driver.yaml, %t in the driver", capability, info.Capabilities[capability], has)
		}
	}
}

func pluginCapabilities(t *testing.T, identity csi.IdentityClient) map[storage.Capability]bool {
	t.Helper()
	answer, err := identity.GetPluginCapabilities(t.Context(), &csi.GetPluginCapabilitiesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	services := map[csi.PluginCapability_Service_Type]bool{}
	expansions := map[csi.PluginCapability_VolumeExpansion_Type]bool{}
	for _, capability := range answer.GetCapabilities() {
		services[capability.GetService().GetType()] = true
		expansions[capability.GetVolumeExpansion().GetType()] = true
	}
	online := expansions[csi.PluginCapability_VolumeExpansion_ONLINE]
	return map[storage.Capability]bool{
		storage.CapTopology:            services[csi.PluginCapability_Service_VOLUME_ACCESSIBILITY_CONSTRAINTS],
		storage.CapVolumeGroupSnapshot: services[csi.PluginCapability_Service_GROUP_CONTROLLER_SERVICE],
		storage.CapSnapshotMetadata:    services[csi.PluginCapability_Service_SNAPSHOT_METADATA_SERVICE],
		storage.CapOnlineExpansion:     online,
		storage.CapOfflineExpansion:    online || expansions[csi.PluginCapability_VolumeExpansion_OFFLINE],
	}
}

func rpcCapabilities(t *testing.T, controller csi.ControllerClient, node csi.NodeClient) map[storage.Capability]bool {
	t.Helper()
	onController, err := controller.ControllerGetCapabilities(t.Context(), &csi.ControllerGetCapabilitiesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	rpcs := map[csi.ControllerServiceCapability_RPC_Type]bool{}
	for _, capability := range onController.GetCapabilities() {
		rpcs[capability.GetRpc().GetType()] = true
	}
	onNode, err := node.NodeGetCapabilities(t.Context(), &csi.NodeGetCapabilitiesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	nodeRPCs := map[csi.NodeServiceCapability_RPC_Type]bool{}
	for _, capability := range onNode.GetCapabilities() {
		nodeRPCs[capability.GetRpc().GetType()] = true
	}
	return map[storage.Capability]bool{
		storage.CapControllerExpansion: rpcs[csi.ControllerServiceCapability_RPC_EXPAND_VOLUME],
		storage.CapCapacity:            rpcs[csi.ControllerServiceCapability_RPC_GET_CAPACITY],
		storage.CapSnapshotDataSource:  rpcs[csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT],
		storage.CapPVCDataSource:       rpcs[csi.ControllerServiceCapability_RPC_CLONE_VOLUME],
		storage.CapSingleNodeVolume:    !rpcs[csi.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME],
		storage.CapNodeExpansion:       nodeRPCs[csi.NodeServiceCapability_RPC_EXPAND_VOLUME],
		storage.CapVolumeMountGroup:    nodeRPCs[csi.NodeServiceCapability_RPC_VOLUME_MOUNT_GROUP],
	}
}

// volumeCapabilities asks for a volume of the smallest size, and for the ways to use it.
func volumeCapabilities(t *testing.T, controller csi.ControllerClient, info storage.DriverInfo) map[storage.Capability]bool {
	t.Helper()
	capability := func(mode csi.VolumeCapability_AccessMode_Mode, fsType string) *csi.VolumeCapability {
		return &csi.VolumeCapability{
			AccessMode: &csi.VolumeCapability_AccessMode{Mode: mode},
			AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{FsType: fsType}},
		}
	}
	const writer = csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER
	size := resource.MustParse(info.SupportedSizeRange.Min)
	volume, err := controller.CreateVolume(t.Context(), &csi.CreateVolumeRequest{
		Name:               t.Name(),
		CapacityRange:      &csi.CapacityRange{RequiredBytes: size.Value(), LimitBytes: size.Value()},
		VolumeCapabilities: []*csi.VolumeCapability{capability(writer, "")},
	})
	if err != nil {
		t.Fatal(err)
	}
	id := volume.GetVolume().GetVolumeId()
	defer func() {
		if _, err := controller.DeleteVolume(t.Context(), &csi.DeleteVolumeRequest{VolumeId: id}); err != nil {
			t.Error(err)
		}
	}()
	confirmed := func(wanted *csi.VolumeCapability) bool {
		answer, err := controller.ValidateVolumeCapabilities(t.Context(), &csi.ValidateVolumeCapabilitiesRequest{
			VolumeId: id, VolumeCapabilities: []*csi.VolumeCapability{wanted}})
		if err != nil {
			t.Fatal(err)
		}
		return answer.GetConfirmed() != nil
	}
	for _, fsType := range []string{"", "ntfs", "ext3", "ext4", "xfs"} {
		if has := confirmed(capability(writer, fsType)); has != info.SupportedFsType.Has(fsType) {
			t.Errorf("file system %q is %t in driver.yaml, %t in the driver", fsType, !has, has)
		}
	}
	return map[storage.Capability]bool{
		storage.CapRWX:          confirmed(capability(csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER, "")),
		storage.CapReadOnlyMany: confirmed(capability(csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY, "")),
		// The mode of a ReadWriteOncePod volume, for a driver without SINGLE_NODE_MULTI_WRITER.
		storage.CapReadWriteOncePod: confirmed(capability(writer, "")),
		storage.CapBlock: confirmed(&csi.VolumeCapability{
			AccessMode: &csi.VolumeCapability_AccessMode{Mode: writer},
			AccessType: &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}},
		}),
	}
}
