package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	"golang.org/x/sys/windows"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// raceOnNode races with the service that runs on this node. The directory is empty whenever it changes, and a
// handle keeps it open: it is the same object throughout
// (https://learn.microsoft.com/windows-hardware/drivers/ifs/fsctl-set-reparse-point).
func raceOnNode(o options) (bool, error) {
	for _, directory := range []string{o.raced, filepath.Join(o.outside, "key", "kept")} {
		if err := os.MkdirAll(directory, 0o700); err != nil {
			return false, err
		}
	}
	name, err := windows.UTF16PtrFromString(o.raced)
	if err != nil {
		return false, err
	}
	share := uint32(windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE)
	handle, err := windows.CreateFile(name, windows.GENERIC_WRITE, share, nil, windows.OPEN_EXISTING,
		windows.FILE_FLAG_BACKUP_SEMANTICS|windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	if err != nil {
		return false, fmt.Errorf("%s: %w", o.raced, err)
	}
	defer windows.CloseHandle(handle)
	control := func(code uint32, in []byte) error {
		var out uint32
		return windows.DeviceIoControl(handle, code, &in[0], uint32(len(in)), nil, 0, &out, nil)
	}
	set := junction(o.outside)
	// A tag without data (https://learn.microsoft.com/windows-hardware/drivers/ifs/fsctl-delete-reparse-point).
	remove := append(set[:4:4], 0, 0, 0, 0)
	if err := control(windows.FSCTL_SET_REPARSE_POINT, set); err != nil {
		return false, fmt.Errorf("%s does not become a junction: %w", o.raced, err)
	}
	link := true
	r := race{directory: o.raced, volume: o.volume}
	r.toggle = func() bool {
		code, data := uint32(windows.FSCTL_SET_REPARSE_POINT), set
		if link {
			code, data = windows.FSCTL_DELETE_REPARSE_POINT, remove
		}
		if control(code, data) != nil {
			return false
		}
		link = !link
		return true
	}
	r.outside = func() (string, error) {
		var all []string
		err := filepath.WalkDir(o.outside, func(path string, _ fs.DirEntry, err error) error {
			all = append(all, path)
			return err
		})
		return strings.Join(all, "\n"), err
	}
	defer func() {
		if link {
			control(windows.FSCTL_DELETE_REPARSE_POINT, remove)
		}
	}()
	return r.run(o.reparse)
}

// junction returns a REPARSE_DATA_BUFFER for a junction to target
// (https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/ns-ntifs-_reparse_data_buffer).
func junction(target string) []byte {
	name := windows.StringToUTF16(`\??\` + target)
	substitute := uint16(len(name)-1) * 2
	data := binary.LittleEndian.AppendUint32(nil, windows.IO_REPARSE_TAG_MOUNT_POINT)
	// Lengths and offsets, the name with its terminator, and the terminator of an empty print name.
	for _, number := range append([]uint16{8 + substitute + 4, 0, 0, substitute, substitute + 2, 0}, append(name, 0)...) {
		data = binary.LittleEndian.AppendUint16(data, number)
	}
	return data
}

// race turns a directory into a link to the outside and back, repeatedly. The outside has a non-empty directory
// `key`.
type race struct {
	directory, volume string
	// Switches between directory and link. Returns false if that failed.
	toggle func() bool
	// Describes the outside.
	outside func() (string, error)
}

func (r race) run(rounds int) (bool, error) {
	before, err := r.outside()
	if err != nil {
		return false, err
	}
	var toggles, left atomic.Int64
	left.Store(int64(rounds))
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var toggler, callers sync.WaitGroup
	toggler.Add(1)
	go func() {
		defer toggler.Done()
		for ctx.Err() == nil {
			if r.toggle() {
				toggles.Add(1)
			}
		}
	}()
	var count answers
	began := time.Now()
	for caller := 0; caller < 2; caller++ {
		conns := map[string]*grpc.ClientConn{}
		for _, api := range []string{"filesystem-v1", "volume-v1"} {
			conn, err := connect(api, grpc.WithUnaryInterceptor(count.intercept))
			if err != nil {
				return false, err
			}
			defer conn.Close()
			conns[api] = conn
		}
		files, volumes := filesystem.NewFilesystemClient(conns["filesystem-v1"]), volume.NewVolumeClient(conns["volume-v1"])
		callers.Add(1)
		go func() {
			defer callers.Done()
			own := fmt.Sprintf(`%s\%d`, r.directory, caller)
			for left.Add(-1) >= 0 {
				for _, call := range []func(ctx context.Context){
					func(ctx context.Context) { files.Mkdir(ctx, &filesystem.MkdirRequest{Path: own}) },
					func(ctx context.Context) {
						volumes.MountVolume(ctx, &volume.MountVolumeRequest{VolumeId: r.volume, TargetPath: own})
					},
					func(ctx context.Context) {
						volumes.UnmountVolume(ctx, &volume.UnmountVolumeRequest{VolumeId: r.volume, TargetPath: own})
					},
					func(ctx context.Context) { files.Rmdir(ctx, &filesystem.RmdirRequest{Path: own, Force: true}) },
					// `key` exists only outside.
					func(ctx context.Context) {
						files.Rmdir(ctx, &filesystem.RmdirRequest{Path: r.directory + `\key`, Force: true})
					},
				} {
					limited, cancel := context.WithTimeout(ctx, patience)
					call(limited)
					cancel()
				}
			}
		}()
	}
	callers.Wait()
	stop()
	toggler.Wait()
	for _, answer := range slices.Sorted(maps.Keys(count.counts)) {
		fmt.Printf("%9d %s\n", count.counts[answer], answer)
	}
	after, err := r.outside()
	if err != nil {
		return false, err
	}
	if before != after {
		fmt.Printf("FAILED: outside was:\n%s\nand is now:\n%s\n", before, after)
		return false, nil
	}
	fmt.Printf("%d rounds in %v, %d times another kind of directory: none escaped\n", rounds,
		time.Since(began).Round(time.Second), toggles.Load())
	if toggles.Load() < 2 {
		return false, fmt.Errorf("%s has never become a link", r.directory)
	}
	return true, nil
}

// answers counts calls by method and code, to show that the calls reach more than one check.
type answers struct {
	mutex  sync.Mutex
	counts map[string]int
}

func (a *answers) intercept(ctx context.Context, method string, in, out any, conn *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	err := invoke(ctx, method, in, out, conn, options...)
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.counts == nil {
		a.counts = map[string]int{}
	}
	a.counts[fmt.Sprintf("%-36s %s", method, status.Code(err))]++
	return err
}
