package pkg_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	diskapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem/hostapi"
)

// While the library is missing, calls fail. Afterwards the first call of any group opens the node
// of this process, once for all groups.
func TestPackagesWithoutAConnectionUseTheNodeOfTheProcess(t *testing.T) {
	library := os.Getenv("CSI_PROXY_LIBRARY")
	if library == "" {
		t.Skip("CSI_PROXY_LIBRARY is not set")
	}
	if runtime.GOOS == "windows" {
		t.Skip("on Windows this would be the machine itself")
	}
	disks, _ := disk.New(diskapi.New())
	files, _ := filesystem.New(filesystemapi.New())
	ctx := context.Background()

	t.Setenv("CSI_PROXY_LIBRARY", filepath.Join(t.TempDir(), "none.so"))
	_, err := disks.ListDiskIDs(ctx, nil)
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "none.so") {
		t.Errorf("without the library: %v", err)
	}
	t.Setenv("CSI_PROXY_LIBRARY", library)
	t.Setenv("CSI_PROXY_SCENARIO", filepath.Join(t.TempDir(), "none.textproto"))
	if _, err := disks.ListDiskIDs(ctx, nil); status.Code(err) != codes.InvalidArgument {
		t.Errorf("without the scenario: %v", err)
	}
	scenario := filepath.Join(t.TempDir(), "node.textproto")
	if err := os.WriteFile(scenario, []byte(`
		disk { number: 0 size_bytes: 68719476736 style: GPT
			partition { size_bytes: 68000000000 volume { file_system: "NTFS" drive_letter: "C" } } }
		disk { number: 5 size_bytes: 1073741824 serial_number: "five" page83: "page-five" }`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CSI_PROXY_SCENARIO", scenario)
	t.Setenv("CSI_PROXY_WORKING_DIRS", `C:\csi;C:\other`)

	var wait sync.WaitGroup
	for i := 0; i < 8; i++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			ids, err := disks.ListDiskIDs(ctx, nil)
			if err != nil || ids.DiskIDs[5] == nil || ids.DiskIDs[5].SerialNumber != "five" {
				t.Error(ids, err)
			}
		}()
	}
	wait.Wait()
	if number, err := diskapi.New().GetDiskNumberWithID("page-five"); err != nil || number != 5 {
		t.Error(number, err)
	}
	if _, err := diskapi.New().GetDiskNumberWithID("nobody"); status.Code(err) != codes.NotFound {
		t.Error(err)
	}
	for path, want := range map[string]codes.Code{
		`C:\other\pods`:       codes.OK,
		`C:\var\lib\kubelet\`: codes.PermissionDenied,
	} {
		if _, err := files.Mkdir(ctx, &filesystem.MkdirRequest{Path: path}); status.Code(err) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	if valid, err := files.PathValid(ctx, &filesystem.PathValidRequest{Path: `C:\other\pods`}); err != nil || !valid.Valid {
		t.Error(valid, err)
	}
	if valid, err := files.PathValid(ctx, &filesystem.PathValidRequest{Path: `C:\other\none`}); err != nil || valid.Valid {
		t.Error(valid, err)
	}
	if _, err := files.PathValid(ctx, &filesystem.PathValidRequest{Path: `\\server\share`}); status.Code(err) != codes.Unimplemented {
		t.Error(err)
	}
}
