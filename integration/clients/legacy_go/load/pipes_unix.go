//go:build !windows

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"

	"github.com/golang/protobuf/proto"
	"github.com/golang/protobuf/ptypes/empty"
	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	iscsi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	smb "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	system "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	oldvolume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1alpha1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

type method struct {
	name    string
	request proto.Message
	answer  codes.Code
}

// methods has one call of each group that changes nothing. All versions of a group understand the request,
// except those of volume that identify a disk by text. Smb has no read-only call; the nearest is the removal of
// a mapping that does not exist.
var methods = map[string]method{
	"disk":       {"Disk/ListDiskLocations", &disk.ListDiskLocationsRequest{}, codes.OK},
	"filesystem": {"Filesystem/PathExists", &filesystem.PathExistsRequest{Path: `C:\var\lib\kubelet`}, codes.OK},
	"iscsi":      {"Iscsi/ListTargetPortals", &iscsi.ListTargetPortalsRequest{}, codes.OK},
	"smb":        {"Smb/RemoveSmbGlobalMapping", &smb.RemoveSmbGlobalMappingRequest{RemotePath: `\\server\share`}, codes.NotFound},
	// No released module has this group. The request has no fields.
	"storage": {"Storage/ListDisks", &empty.Empty{}, codes.OK},
	"system":  {"System/GetBIOSSerialNumber", &system.GetBIOSSerialNumberRequest{}, codes.OK},
	"volume":  {"Volume/ListVolumesOnDisk", &volume.ListVolumesOnDiskRequest{DiskNumber: 0}, codes.OK},
}

var oldVolume = method{"Volume/ListVolumesOnDisk", &oldvolume.ListVolumesOnDiskRequest{DiskId: "0"}, codes.OK}

var pipeName = regexp.MustCompile(`^csi-proxy-([a-z]+)-(v[0-9a-z]+)\.sock$`)

// eachPipe visits the pipes of a directory, with a function that creates a caller for a connection.
func eachPipe(directory string, visit func(path string, bind func(grpc.ClientConnInterface) call) error) error {
	paths, err := filepath.Glob(filepath.Join(directory, "csi-proxy-*-v*.sock"))
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return fmt.Errorf("%s has no pipes", directory)
	}
	for _, path := range paths {
		name := pipeName.FindStringSubmatch(filepath.Base(path))
		if name == nil {
			return fmt.Errorf("%s is not the pipe of a version", path)
		}
		group, version := name[1], name[2]
		m, ok := methods[group]
		if !ok {
			return fmt.Errorf("group %s is not known", group)
		}
		if group == "volume" && (version == "v1alpha1" || version == "v1beta1" || version == "v1beta2") {
			m = oldVolume
		}
		err := visit(path, func(connection grpc.ClientConnInterface) call {
			full := "/" + version + "." + m.name
			return func() error {
				// The answer's fields become unknown fields.
				err := connection.Invoke(context.Background(), full, m.request, &empty.Empty{})
				if status.Code(err) != m.answer {
					return fmt.Errorf("%s: %v", full, err)
				}
				return nil
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}
