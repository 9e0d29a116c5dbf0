//go:build windows

// Runs upstream's tests under Wine, where Go's package os acts on Wine's files, but the service acts on the files of
// the double's node. So this file replaces the functions of os and ioutil that the tests call: below
// C:\var\lib\kubelet the replacements call the node's admin service. Wine's files store the content
// of all files.
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
	// The service loads the double at its first call of WMI; only then does the node have an administrator.
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

// replace makes function jump to with. REQUIRES: the callers of function are compiled without inlining.
func replace[F any](function, with F) {
	at := reflect.ValueOf(function).Pointer()
	// movabs r13, with; jmp r13. Go passes no argument in r13.
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

// remove removes an entry. It returns an error for a directory of the node that has entries,
// although it also replaces os.RemoveAll.
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

// stat returns the FileInfo of an arbitrary directory if the node has an entry at path.
func stat(path string) (os.FileInfo, error) {
	if !onNode(path) {
		return os.Lstat(path)
	}
	if kind, _ := look(filepath.Clean(path)); kind == "" {
		return nil, &os.PathError{Op: "stat", Path: path, Err: os.ErrNotExist}
	}
	return os.Lstat(os.TempDir())
}

// readDir returns the FileInfo of an arbitrary directory once for each entry.
func readDir(path string) (entries []fs.FileInfo, err error) {
	_, names := look(filepath.Clean(path))
	for range names {
		entries = append(entries, must(os.Lstat(os.TempDir())))
	}
	return entries, nil
}

// place returns Wine's file with the content of path; os.ErrPermission if the node has not mapped the path's share.
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

// volume returns the node's first volume in which field equals text; nil if there is none.
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

// look returns the kind of the node's entry at a path below C:\, and the names in a directory. Follows links and
// mounted folders. kind is "" if there is no entry.
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
