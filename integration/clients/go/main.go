// Command calls makes every call of the table of cases through a csiproxy.Conn, with the unchanged clients of
// release v1.3.0, on a simulated node in this process.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"csi-proxy.example/legacy_go/suite"
	diskv1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	diskv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1alpha1"
	diskv1beta1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1beta1"
	diskv1beta2 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1beta2"
	diskv1beta3 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1beta3"
	filesystemv1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	filesystemv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1alpha1"
	filesystemv1beta1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1beta1"
	filesystemv1beta2 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1beta2"
	filesystemv2alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	iscsiv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha1"
	iscsiv1alpha2 "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	smbv1 "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	smbv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1alpha1"
	smbv1beta1 "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1beta1"
	smbv1beta2 "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1beta2"
	systemv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	volumev1 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	volumev1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1alpha1"
	volumev1beta1 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1beta1"
	volumev1beta2 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1beta2"
	volumev1beta3 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1beta3"
	volumev2alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	csiproxy "github.com/kubernetes-csi/csi-proxy/v2"
	storagev1alpha1 "github.com/kubernetes-csi/csi-proxy/v2/api/storage/v1alpha1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

func main() {
	cases := flag.String("cases", "", "the table, as dump_cases writes it")
	flag.Parse()
	said, err := run(*cases)
	if err != nil {
		fmt.Fprintf(os.Stderr, "FAILED: %v\n", err)
		os.Exit(1)
	}
	fmt.Println(said)
}

func run(cases string) (string, error) {
	conn, err := csiproxy.Connect(csiproxy.Embedded, csiproxy.WithSimulatedNode(""), csiproxy.WithLog(func(csiproxy.Severity, string) {}))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	called := make(methods)
	s := suite.Suite{Clients: clients, Conn: conn, ClientConn: conn.ClientConn()}
	s.Answered = func(c suite.Client, method, _ string, _ proto.Message, _ error) {
		called[c.Group+"/"+c.Version+"/"+method] = true
	}
	calls, err := s.Run(cases)
	if err != nil {
		return "", err
	}
	rpcs, missing := called.all()
	if len(missing) > 0 {
		return "", fmt.Errorf("nobody has called %s", strings.Join(missing, ", "))
	}
	return fmt.Sprintf("%d rpcs of %d versions, %d calls, all as expected", rpcs, len(clients), calls), nil
}

// methods are the methods that were called, as group/version/name.
type methods map[string]bool

// all returns the number of rpcs in the released protos, and those that were not called.
func (m methods) all() (rpcs int, missing []string) {
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := 0; i < file.Services().Len(); i++ {
			service := file.Services().Get(i)
			for j := 0; j < service.Methods().Len(); j++ {
				method := fmt.Sprintf("%s/%s/%s", strings.ToLower(string(service.Name())), file.Package(), service.Methods().Get(j).Name())
				rpcs++
				if !m[method] {
					missing = append(missing, method)
				}
			}
		}
		return true
	})
	return rpcs, missing
}

// clients are the generated clients of every version.
var clients = []suite.Client{
	{Group: "disk", Version: "v1", New: diskv1.NewDiskClient},
	{Group: "disk", Version: "v1alpha1", New: diskv1alpha1.NewDiskClient},
	{Group: "disk", Version: "v1beta1", New: diskv1beta1.NewDiskClient},
	{Group: "disk", Version: "v1beta2", New: diskv1beta2.NewDiskClient},
	{Group: "disk", Version: "v1beta3", New: diskv1beta3.NewDiskClient},
	{Group: "filesystem", Version: "v1", New: filesystemv1.NewFilesystemClient},
	{Group: "filesystem", Version: "v1alpha1", New: filesystemv1alpha1.NewFilesystemClient},
	{Group: "filesystem", Version: "v1beta1", New: filesystemv1beta1.NewFilesystemClient},
	{Group: "filesystem", Version: "v1beta2", New: filesystemv1beta2.NewFilesystemClient},
	{Group: "filesystem", Version: "v2alpha1", New: filesystemv2alpha1.NewFilesystemClient},
	{Group: "iscsi", Version: "v1alpha1", New: iscsiv1alpha1.NewIscsiClient},
	{Group: "iscsi", Version: "v1alpha2", New: iscsiv1alpha2.NewIscsiClient},
	{Group: "smb", Version: "v1", New: smbv1.NewSmbClient},
	{Group: "smb", Version: "v1alpha1", New: smbv1alpha1.NewSmbClient},
	{Group: "smb", Version: "v1beta1", New: smbv1beta1.NewSmbClient},
	{Group: "smb", Version: "v1beta2", New: smbv1beta2.NewSmbClient},
	{Group: "storage", Version: "v1alpha1", New: storagev1alpha1.NewStorageClient},
	{Group: "system", Version: "v1alpha1", New: systemv1alpha1.NewSystemClient},
	{Group: "volume", Version: "v1", New: volumev1.NewVolumeClient},
	{Group: "volume", Version: "v1alpha1", New: volumev1alpha1.NewVolumeClient},
	{Group: "volume", Version: "v1beta1", New: volumev1beta1.NewVolumeClient},
	{Group: "volume", Version: "v1beta2", New: volumev1beta2.NewVolumeClient},
	{Group: "volume", Version: "v1beta3", New: volumev1beta3.NewVolumeClient},
	{Group: "volume", Version: "v2alpha1", New: volumev2alpha1.NewVolumeClient},
}
