package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"csi-proxy.example/drivers/steps"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// race turns a directory into a link to the outside and back, repeatedly. The outside has a non-empty directory
// `key`.
type race struct {
	directory, volume string
	// Switches between directory and link. Returns false if that failed.
	toggle func() bool
	// Describes the outside.
	outside func() (string, error)
}

const (
	root = `C:\var\lib\kubelet`
	// Part of the names that no call may reach.
	forbidden = "kubelet-secret"
	// A second disk, whose volume the calls may mount.
	spareVolume = `\\?\Volume{00000000-c511-4c0d-9000-000000000002}\`
	spareDisk   = `
disk {
  number: 10 size_bytes: 1073741824 style: GPT
  partition { size_bytes: 1000000000 volume {
    id: "\\\\?\\Volume{00000000-c511-4c0d-9000-000000000002}\\" file_system: "NTFS"
  } }
}
`
)

// reparseRace runs a race on the simulated node, where each switch creates a new entry. Only on a Windows node
// can a directory become a link in place (raceOnNode).
func reparseRace(service *steps.Service, o options) (bool, error) {
	if err := service.Start(node + spareDisk); err != nil {
		return false, err
	}
	r := race{directory: root + `\pods\pod\volumes\raced`, volume: spareVolume}
	path := map[string]any{"path": r.directory}
	toLink := map[string]any{"path": r.directory, "target": `C:\var\lib\` + forbidden, "junction": true}
	link := false
	r.toggle = func() bool {
		// RemoveFolder may fail: the folder may have entries, and before the first switch there is none.
		service.Call("RemoveFolder", path)
		var err error
		if link {
			err = service.Call("MakeDirectory", path)
		} else {
			err = service.Call("MakeLink", toLink)
		}
		if err != nil {
			return false
		}
		link = !link
		return true
	}
	r.outside = func() (string, error) {
		service.Call("RemoveFolder", path)
		return outside(service)
	}
	return r.run(o.reparse)
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

// outside describes everything that no call may change.
func outside(service *steps.Service) (string, error) {
	node, _, err := service.Dump()
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, disk := range node.Disk {
		fmt.Fprintln(&text, disk.Number, disk.SizeBytes, disk.Style, disk.Offline, disk.ReadOnly)
		for _, partition := range disk.Partition {
			fmt.Fprintln(&text, " ", partition.Type, partition.SizeBytes)
			if partition.Volume == nil {
				continue
			}
			fmt.Fprintln(&text, "   ", partition.Volume.ID, partition.Volume.FileSystem, partition.Volume.DriveLetter)
			// Pods may use a volume without a drive letter.
			if partition.Volume.DriveLetter == "" {
				continue
			}
			for _, file := range partition.Volume.File {
				path := strings.ToLower(`C:\` + file.Path)
				inside := path == strings.ToLower(root) || strings.HasPrefix(path, strings.ToLower(root)+`\`)
				switch {
				case !inside:
					fmt.Fprintf(&text, "      %+v\n", file)
				case file.Target != "":
					target := strings.ToLower(file.Target)
					if target != strings.ToLower(root) && !strings.HasPrefix(target, strings.ToLower(root)+`\`) {
						fmt.Fprintf(&text, "      a link that leads out: %+v\n", file)
					}
				}
			}
		}
	}
	fmt.Fprintln(&text, len(node.SmbMapping), "mappings")
	return text.String(), nil
}
