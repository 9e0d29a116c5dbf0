// Serves pkg/os of azuredisk-csi-driver, by which the driver stages volumes in a HostProcess container, on csi-proxy's
// pipes, so that bench/run.sh storm can measure it as a further service. The gRPC calls to these pipes replace the
// kubelet's calls of the driver's NodeStageVolume.
package main

import (
	"context"
	"log"
	"os"

	"github.com/Microsoft/go-winio"
	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	fileapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	"google.golang.org/grpc"
	"sigs.k8s.io/azuredisk-csi-driver/pkg/os/disk"
	"sigs.k8s.io/azuredisk-csi-driver/pkg/os/volume"
)

var (
	disks   = disk.NewCIMDiskAPI()
	volumes = volume.NewCIMVolumeAPI()
)

type diskServer struct {
	diskapi.UnimplementedDiskServer
}

func (*diskServer) ListDiskLocations(context.Context, *diskapi.ListDiskLocationsRequest) (*diskapi.ListDiskLocationsResponse, error) {
	_, err := disks.ListDiskLocations()
	return &diskapi.ListDiskLocationsResponse{}, err
}

func (*diskServer) Rescan(context.Context, *diskapi.RescanRequest) (*diskapi.RescanResponse, error) {
	return &diskapi.RescanResponse{}, disks.Rescan()
}

func (*diskServer) ListDiskIDs(context.Context, *diskapi.ListDiskIDsRequest) (*diskapi.ListDiskIDsResponse, error) {
	answer := &diskapi.ListDiskIDsResponse{DiskIDs: map[uint32]*diskapi.DiskIDs{}}
	found, err := disks.ListDiskIDs()
	for number, ids := range found {
		answer.DiskIDs[number] = &diskapi.DiskIDs{Page83: ids.Page83, SerialNumber: ids.SerialNumber}
	}
	return answer, err
}

func (*diskServer) SetDiskState(_ context.Context, r *diskapi.SetDiskStateRequest) (*diskapi.SetDiskStateResponse, error) {
	return &diskapi.SetDiskStateResponse{}, disks.SetDiskState(r.DiskNumber, r.IsOnline)
}

func (*diskServer) PartitionDisk(_ context.Context, r *diskapi.PartitionDiskRequest) (*diskapi.PartitionDiskResponse, error) {
	return &diskapi.PartitionDiskResponse{}, disks.PartitionDisk(r.DiskNumber)
}

type volumeServer struct {
	volumeapi.UnimplementedVolumeServer
}

func (*volumeServer) ListVolumesOnDisk(_ context.Context, r *volumeapi.ListVolumesOnDiskRequest) (*volumeapi.ListVolumesOnDiskResponse, error) {
	ids, err := volumes.ListVolumesOnDisk(r.DiskNumber, r.PartitionNumber)
	return &volumeapi.ListVolumesOnDiskResponse{VolumeIds: ids}, err
}

func (*volumeServer) IsVolumeFormatted(_ context.Context, r *volumeapi.IsVolumeFormattedRequest) (*volumeapi.IsVolumeFormattedResponse, error) {
	formatted, err := volumes.IsVolumeFormatted(r.VolumeId)
	return &volumeapi.IsVolumeFormattedResponse{Formatted: formatted}, err
}

func (*volumeServer) FormatVolume(_ context.Context, r *volumeapi.FormatVolumeRequest) (*volumeapi.FormatVolumeResponse, error) {
	return &volumeapi.FormatVolumeResponse{}, volumes.FormatVolume(r.VolumeId)
}

func (*volumeServer) MountVolume(_ context.Context, r *volumeapi.MountVolumeRequest) (*volumeapi.MountVolumeResponse, error) {
	return &volumeapi.MountVolumeResponse{}, volumes.MountVolume(r.VolumeId, r.TargetPath)
}

type fileServer struct {
	fileapi.UnimplementedFilesystemServer
}

func (*fileServer) Mkdir(_ context.Context, r *fileapi.MkdirRequest) (*fileapi.MkdirResponse, error) {
	return &fileapi.MkdirResponse{}, os.MkdirAll(r.Path, 0o755)
}

func main() {
	server := grpc.NewServer()
	diskapi.RegisterDiskServer(server, &diskServer{})
	volumeapi.RegisterVolumeServer(server, &volumeServer{})
	fileapi.RegisterFilesystemServer(server, &fileServer{})
	for _, group := range []string{"disk-v1", "volume-v1", "filesystem-v1"} {
		listener, err := winio.ListenPipe(`\\.\pipe\csi-proxy-`+group, nil)
		if err != nil {
			log.Fatal(err)
		}
		go func() { log.Fatal(server.Serve(listener)) }()
	}
	select {}
}
