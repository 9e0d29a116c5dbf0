// Package disk finds and partitions the disks of a Windows node, and brings them online or offline.
package disk

import (
	"context"

	diskapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/host"
)

// Disk manages the disks of a node.
type Disk struct {
	hostAPI diskapi.HostAPI
}

// Interface is implemented by Disk.
type Interface interface {
	// GetDiskReadOnly reports whether a disk has the read-only attribute.
	GetDiskReadOnly(context.Context, *GetDiskReadOnlyRequest) (*GetDiskReadOnlyResponse, error)
	// GetDiskState reports whether a disk is online.
	GetDiskState(context.Context, *GetDiskStateRequest) (*GetDiskStateResponse, error)
	// GetDiskStats returns a disk's size.
	GetDiskStats(context.Context, *GetDiskStatsRequest) (*GetDiskStatsResponse, error)
	// ListDiskIDs returns the identifiers of all disks, by disk number.
	ListDiskIDs(context.Context, *ListDiskIDsRequest) (*ListDiskIDsResponse, error)
	// ListDiskLocations returns the locations of all disks, by disk number.
	ListDiskLocations(context.Context, *ListDiskLocationsRequest) (*ListDiskLocationsResponse, error)
	// PartitionDisk gives a disk a GPT and a data partition, unless it has them.
	PartitionDisk(context.Context, *PartitionDiskRequest) (*PartitionDiskResponse, error)
	// Rescan makes Windows look for new and changed disks.
	Rescan(context.Context, *RescanRequest) (*RescanResponse, error)
	// SetDiskReadOnly sets or clears a disk's read-only attribute.
	SetDiskReadOnly(context.Context, *SetDiskReadOnlyRequest) (*SetDiskReadOnlyResponse, error)
	// SetDiskState brings a disk online or takes it offline.
	SetDiskState(context.Context, *SetDiskStateRequest) (*SetDiskStateResponse, error)
}

var _ Interface = &Disk{}

// New returns a Disk on a host API. The error is always nil.
func New(hostAPI diskapi.HostAPI) (*Disk, error) { return &Disk{hostAPI: hostAPI}, nil }

func (d *Disk) api(ctx context.Context) diskapi.HostAPI { return host.Bind(ctx, d.hostAPI) }

func (d *Disk) ListDiskLocations(ctx context.Context, _ *ListDiskLocationsRequest) (*ListDiskLocationsResponse, error) {
	response := &ListDiskLocationsResponse{}
	listed, err := d.api(ctx).ListDiskLocations()
	if err != nil {
		return response, err
	}
	response.DiskLocations = make(map[uint32]*DiskLocation, len(listed))
	for number, at := range listed {
		response.DiskLocations[number] = &DiskLocation{Adapter: at.Adapter, Bus: at.Bus, Target: at.Target, LUNID: at.LUNID}
	}
	return response, nil
}

func (d *Disk) PartitionDisk(ctx context.Context, request *PartitionDiskRequest) (*PartitionDiskResponse, error) {
	response := &PartitionDiskResponse{}
	if request == nil {
		return response, host.NoRequest("PartitionDisk")
	}
	return response, partition(d.api(ctx), request.DiskNumber)
}

// partition calls PartitionDisk of the host API if it has one, otherwise the single steps.
func partition(api diskapi.HostAPI, number uint32) error {
	if whole, ok := api.(interface{ PartitionDisk(uint32) error }); ok {
		return whole.PartitionDisk(number)
	}
	for _, step := range []struct {
		done func(uint32) (bool, error)
		do   func(uint32) error
	}{
		{api.IsDiskInitialized, api.InitializeDisk},
		{api.BasicPartitionsExist, api.CreateBasicPartition},
	} {
		done, err := step.done(number)
		if err == nil && !done {
			err = step.do(number)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *Disk) Rescan(ctx context.Context, _ *RescanRequest) (*RescanResponse, error) {
	return host.OrNil(&RescanResponse{}, d.api(ctx).Rescan())
}

func (d *Disk) ListDiskIDs(ctx context.Context, _ *ListDiskIDsRequest) (*ListDiskIDsResponse, error) {
	listed, err := d.api(ctx).ListDiskIDs()
	if err != nil {
		return nil, err
	}
	response := &ListDiskIDsResponse{DiskIDs: make(map[uint32]*DiskIDs, len(listed))}
	for number, id := range listed {
		response.DiskIDs[number] = &DiskIDs{Page83: id.Page83, SerialNumber: id.SerialNumber}
	}
	return response, nil
}

func (d *Disk) GetDiskStats(ctx context.Context, request *GetDiskStatsRequest) (*GetDiskStatsResponse, error) {
	if request == nil {
		return nil, host.NoRequest("GetDiskStats")
	}
	size, err := d.api(ctx).GetDiskStats(request.DiskNumber)
	return host.OrNil(&GetDiskStatsResponse{TotalBytes: size}, err)
}

func (d *Disk) SetDiskState(ctx context.Context, request *SetDiskStateRequest) (*SetDiskStateResponse, error) {
	if request == nil {
		return nil, host.NoRequest("SetDiskState")
	}
	return host.OrNil(&SetDiskStateResponse{}, d.api(ctx).SetDiskState(request.DiskNumber, request.IsOnline))
}

func (d *Disk) GetDiskState(ctx context.Context, request *GetDiskStateRequest) (*GetDiskStateResponse, error) {
	if request == nil {
		return nil, host.NoRequest("GetDiskState")
	}
	online, err := d.api(ctx).GetDiskState(request.DiskNumber)
	return host.OrNil(&GetDiskStateResponse{IsOnline: online}, err)
}

func (d *Disk) SetDiskReadOnly(ctx context.Context, request *SetDiskReadOnlyRequest) (*SetDiskReadOnlyResponse, error) {
	if request == nil {
		return nil, host.NoRequest("SetDiskReadOnly")
	}
	return host.OrNil(&SetDiskReadOnlyResponse{}, d.api(ctx).SetDiskReadOnly(request.DiskNumber, request.IsReadOnly))
}

func (d *Disk) GetDiskReadOnly(ctx context.Context, request *GetDiskReadOnlyRequest) (*GetDiskReadOnlyResponse, error) {
	if request == nil {
		return nil, host.NoRequest("GetDiskReadOnly")
	}
	readOnly, err := d.api(ctx).GetDiskReadOnly(request.DiskNumber)
	return host.OrNil(&GetDiskReadOnlyResponse{IsReadOnly: readOnly}, err)
}
