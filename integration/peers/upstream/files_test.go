//go:build windows

// Runs upstream's tests under Wine, where Go's package os acts on the files of Wine and the service on those of the
// double's node. So the functions of os and ioutil that the tests call are replaced. For paths below C:\var\lib\kubelet
// they call the node's administrator. The content of files, also in shares, is in files of Wine.
package integrationtests

import (
	"context"
	"encoding/binary"
	"io/fs"
	"io/ioutil"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	diskclient "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	"golang.org/x/sys/windows"
)

func TestMain(m *testing.M) {
	if filepath.Base(must(os.Executable())) == "powershell.exe" {
		runPowershell()
	}
	// The service has the double's node from its first call of WMI on.
	client := must(diskclient.NewClient())
	must(client.ListDiskIDs(context.Background(), &diskapi.ListDiskIDsRequest{}))
	client.Close()
	replace(os.Create, create)
	replace(os.Mkdir, mkdir)
	replace(os.MkdirAll, mkdir)
	replace(os.Open, open)
	replace(os.Remove, remove)
	replace(os.RemoveAll, remove)
	replace(os.Stat, stat)
	replace(os.Symlink, symlink)
	replace(ioutil.ReadDir, readDir)
	replace(ioutil.ReadFile, readFileAt)
	os.Exit(m.Run())
}

// replace writes a jump to a function of the same type over another. The callers must be built without inlining.
func replace[F any](function, with F) {
	at := reflect.ValueOf(function).Pointer()
	// movabs r13, with; jmp r13. Go passes nothing in this register.
	code := binary.LittleEndian.AppendUint64([]byte{0x49, 0xbd}, uint64(reflect.ValueOf(with).Pointer()))
	code = append(code, 0x41, 0xff, 0xe5)
	var before uint32
	must(0, windows.VirtualProtect(at, uintptr(len(code)), windows.PAGE_EXECUTE_READWRITE, &before))
	var page *byte
	*(*uintptr)(unsafe.Pointer(&page)) = at
	copy(unsafe.Slice(page, len(code)), code)
}

func onNode(path string) bool { return strings.HasPrefix(strings.ToLower(path), `c:\var\lib\kubelet`) }

func mkdir(path string, mode os.FileMode) error {
	if !onNode(path) {
		return syscall.Mkdir(path, uint32(mode))
	}
	_, err := call("MakeDirectory", object{"path": filepath.Clean(path)})
	return err
}

// remove leaves a directory that has entries.
func remove(path string) error {
	if !onNode(path) {
		return syscall.Unlink(path)
	}
	_, err := call("RemoveFolder", object{"path": filepath.Clean(path)})
	return err
}

func symlink(target, path string) error {
	_, err := call("MakeLink", object{"path": path, "target": target})
	return err
}

// stat returns the description of some directory if there is an entry.
func stat(path string) (os.FileInfo, error) {
	if !onNode(path) {
		return os.Lstat(path)
	}
	if kind, _ := look(filepath.Clean(path)); kind == "" {
		return nil, &os.PathError{Op: "stat", Path: path, Err: os.ErrNotExist}
	}
	return os.Lstat(os.TempDir())
}

// readDir returns that description for each entry.
func readDir(path string) (entries []fs.FileInfo, err error) {
	_, names := look(filepath.Clean(path))
	for range names {
		entries = append(entries, must(os.Lstat(os.TempDir())))
	}
	return entries, nil
}

// place returns the file of Wine for a path. The share of a path must be mapped on the node.
func place(path string) (string, error) {
	if share := strings.Split(path, `\`); strings.HasPrefix(path, `\\`) {
		if find(dump(), "smb_mapping", "remote_path", `\\`+share[2]+`\`+share[3]) == nil {
			return "", os.ErrPermission
		}
		return stored(path), nil
	}
	if !onNode(path) {
		return path, nil
	}
	return stored(path), nil
}

func create(path string) (*os.File, error) {
	at, err := place(path)
	if err == nil && onNode(path) {
		_, err = call("WriteFile", object{"path": path})
	}
	if err != nil {
		return nil, err
	}
	return os.OpenFile(at, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

func open(path string) (*os.File, error) {
	if _, err := stat(path); err != nil {
		return nil, err
	}
	return os.OpenFile(must(place(path)), os.O_RDONLY, 0)
}

func readFileAt(path string) ([]byte, error) {
	at, err := place(path)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(at)
}

// volume returns the volume of the node whose field has the text.
func volume(field, text string) object {
	for _, disk := range list(dump(), "disk") {
		for _, partition := range list(disk, "partition") {
			if volume, _ := partition["volume"].(object); volume != nil && volume[field] == text {
				return volume
			}
		}
	}
	return nil
}

// look returns the kind of the node's entry at a path below C:\, through links and mounted folders, and the names in a
// directory; "" if there is none.
func look(path string) (kind string, names []string) {
	below := func(path, top string) bool {
		return strings.EqualFold(path, top) || len(path) > len(top) && strings.EqualFold(path[:len(top)+1], top+`\`)
	}
	at, rest := volume("drive_letter", "C"), path[len(`C:\`):]
follow:
	for hops := 0; hops < 8; hops++ {
		for _, file := range list(at, "file") {
			name := file["path"].(string)
			mounted, target := file["mounted_volume_id"], file["target"]
			if rest == "" || !below(rest, name) || mounted == nil && target == nil {
				continue
			}
			rest = strings.TrimPrefix(rest[len(name):], `\`)
			if mounted != nil {
				at = volume("id", mounted.(string))
			} else {
				at, rest = volume("drive_letter", "C"), strings.TrimSuffix(target.(string)[len(`C:\`):]+`\`+rest, `\`)
			}
			continue follow
		}
		break
	}
	if rest == "" {
		kind = "DIRECTORY"
	}
	for _, file := range list(at, "file") {
		switch name := file["path"].(string); {
		case strings.EqualFold(name, rest) && file["kind"] == "FILE":
			return "FILE", nil
		case below(name, rest):
			kind = "DIRECTORY"
			if len(name) > len(rest) {
				names = append(names, strings.Split(name[len(rest)+1:], `\`)[0])
			}
		}
	}
	return kind, names
}
