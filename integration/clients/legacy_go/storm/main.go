// Stages many raw disks, shares or targets at the same time over one connection for each group, as a driver does after
// the start of its node, and prints how long that took as JSON.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"sort"
	"sync"
	"time"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	smb "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"

	"csi-proxy.example/legacy_go/suite"
)

const plugins = `C:\var\lib\kubelet\plugins\kubernetes.io\csi\`

// node holds one gRPC connection to each of the service's pipes. Before the first call to a pipe, it dials the pipe
// once, as the released clients do, and keeps that connection open. Under Wine this is more than a check, because the
// first instance of a go-winio pipe accepts a client but is never served.
type node struct {
	directory string
	mutex     sync.Mutex
	opened    map[string]*grpc.ClientConn
	checks    []net.Conn // stay open
}

func (n *node) connection(pipe string) *grpc.ClientConn {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.opened[pipe] == nil {
		name, dial := "csi-proxy-"+pipe, dialer(n.directory)
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		check, err := dial(ctx, name)
		for ; err != nil; check, err = dial(ctx, name) {
			if ctx.Err() != nil {
				log.Fatalf("%s: %v", name, err)
			}
			time.Sleep(20 * time.Millisecond)
		}
		n.checks = append(n.checks, check)
		c, err := grpc.Dial(name, grpc.WithInsecure(), grpc.WithContextDialer(dial))
		if err != nil {
			log.Fatal(err)
		}
		n.opened[pipe] = c
	}
	return n.opened[pipe]
}

// stopwatch records the times of each step of all volumes.
type stopwatch struct {
	mutex sync.Mutex
	times map[string][]float64
}

func (s *stopwatch) run(step string, call func() error) error {
	begin := time.Now()
	err := call()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.times[step] = append(s.times[step], float64(time.Since(begin).Microseconds())/1e3)
	if err != nil {
		return fmt.Errorf("%s: %v", step, err)
	}
	return nil
}

func find(ctx context.Context, client disk.DiskClient, name string) (uint32, error) {
	disks, err := client.ListDiskIDs(ctx, &disk.ListDiskIDsRequest{})
	if err != nil {
		return 0, err
	}
	for number, ids := range disks.DiskIDs {
		if ids.Page83 == name {
			return number, nil
		}
	}
	return 0, fmt.Errorf("no disk is called %s", name)
}

// byReleasedCalls stages a disk with the released versions, as drivers do.
func byReleasedCalls(ctx context.Context, n *node, watch *stopwatch, name, target string) error {
	disks := disk.NewDiskClient(n.connection("disk-v1"))
	volumes := volume.NewVolumeClient(n.connection("volume-v1"))
	files := filesystem.NewFilesystemClient(n.connection("filesystem-v1"))
	var number uint32
	var id string
	steps := []struct {
		name string
		call func() error
	}{
		{"Rescan", func() error {
			_, err := disks.Rescan(ctx, &disk.RescanRequest{})
			return err
		}},
		{"ListDiskIDs", func() (err error) {
			number, err = find(ctx, disks, name)
			return err
		}},
		{"SetDiskState", func() error {
			_, err := disks.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: true})
			return err
		}},
		{"PartitionDisk", func() error {
			_, err := disks.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: number})
			return err
		}},
		{"ListVolumesOnDisk", func() error {
			// The Go release answers PartitionDisk before the volume has arrived, so drivers ask again.
			for {
				found, err := volumes.ListVolumesOnDisk(ctx, &volume.ListVolumesOnDiskRequest{DiskNumber: number})
				if err != nil {
					return err
				}
				if len(found.VolumeIds) > 0 {
					id = found.VolumeIds[0]
					return nil
				}
				time.Sleep(100 * time.Millisecond)
			}
		}},
		{"IsVolumeFormatted", func() error {
			_, err := volumes.IsVolumeFormatted(ctx, &volume.IsVolumeFormattedRequest{VolumeId: id})
			return err
		}},
		{"FormatVolume", func() error {
			_, err := volumes.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeId: id})
			return err
		}},
		{"Mkdir", func() error {
			_, err := files.Mkdir(ctx, &filesystem.MkdirRequest{Path: target})
			return err
		}},
		{"MountVolume", func() error {
			_, err := volumes.MountVolume(ctx, &volume.MountVolumeRequest{VolumeId: id, TargetPath: target})
			return err
		}},
	}
	for _, step := range steps {
		if err := watch.run(step.name, step.call); err != nil {
			return err
		}
	}
	return nil
}

const user, password = "storm", "storm-password"

// stage returns the function that stages volumes, shares or targets.
func stage(what string, n *node, watch *stopwatch) func(ctx context.Context, name, target string) error {
	text := suite.Text
	invoke := func(ctx context.Context, method, request string) error {
		return watch.run(method, func() error {
			_, err := suite.Invoke(ctx, n.connection("storage-v1alpha1"), "/v1alpha1.Storage/"+method, request)
			return err
		})
	}
	return map[string]func(ctx context.Context, name, target string) error{
		"released": func(ctx context.Context, name, target string) error {
			return byReleasedCalls(ctx, n, watch, name, target)
		},
		"StageVolume": func(ctx context.Context, name, target string) error {
			return invoke(ctx, "StageVolume", text(1, text(3, name))+text(2, target))
		},
		"StageTarget": func(ctx context.Context, name, target string) error {
			return invoke(ctx, "StageTarget", text(1, "10.0.0.5")+text(2, "iqn.2026-01.example:"+name)+text(6, "0")+text(9, target))
		},
		"NewSmbGlobalMapping": func(ctx context.Context, name, target string) error {
			client := smb.NewSmbClient(n.connection("smb-v1"))
			return watch.run("NewSmbGlobalMapping", func() error {
				_, err := client.NewSmbGlobalMapping(ctx, &smb.NewSmbGlobalMappingRequest{
					RemotePath: `\\` + name + `\data`, LocalPath: target, Username: user, Password: password,
				})
				return err
			})
		},
		"StageShare": func(ctx context.Context, name, target string) error {
			return invoke(ctx, "StageShare", text(1, `\\`+name+`\data`)+text(2, target)+text(3, user)+text(4, password))
		},
	}[what]
}

func at(sorted []float64, percent int) float64 { return sorted[(len(sorted)-1)*percent/100] }

func main() {
	directory := flag.String("directory", "", "Linux: the directory of the sockets")
	what := flag.String("by", "", "released, StageVolume, StageTarget, NewSmbGlobalMapping or StageShare; without it, wait for the service")
	first := flag.Int("first", 1, "the number of the first disk or server: storm-N")
	count := flag.Int("count", 1, "how many at once")
	counts := flag.Bool("count-wmi", false, "print the number of the simulated node's WMI calls instead")
	flag.Parse()
	log.SetFlags(0)
	n := &node{directory: *directory, opened: map[string]*grpc.ClientConn{}}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if *counts {
		answer, err := suite.Invoke(ctx, n.connection("admin"), "/csi_proxy.simulated.Admin/CountCalls", "")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(numberOf(answer, 2))
		return
	}
	// Connects before the storm begins.
	if _, err := disk.NewDiskClient(n.connection("disk-v1")).ListDiskLocations(ctx, &disk.ListDiskLocationsRequest{}); err != nil {
		log.Fatal(err)
	}
	if *what == "" {
		return
	}
	watch := &stopwatch{times: map[string][]float64{}}
	run := stage(*what, n, watch)
	times, errs := make([]float64, *count), make([]error, *count)
	var done sync.WaitGroup
	begin := time.Now()
	for i := 0; i < *count; i++ {
		done.Add(1)
		go func(i int) {
			defer done.Done()
			name := fmt.Sprintf("storm-%d", *first+i)
			errs[i] = run(ctx, name, plugins+name)
			times[i] = float64(time.Since(begin).Microseconds()) / 1e3
		}(i)
	}
	done.Wait()
	all := time.Since(begin)
	failed := 0
	for _, err := range errs {
		if err != nil {
			failed++
			if failed <= 3 {
				log.Print(err)
			}
		}
	}
	sort.Float64s(times)
	stations := map[string]float64{}
	for step, spent := range watch.times {
		sort.Float64s(spent)
		stations[step] = at(spent, 50)
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]interface{}{
		"seconds": all.Seconds(), "p50_ms": at(times, 50), "p99_ms": at(times, 99), "failed": failed, "stations_ms": stations,
	}); err != nil {
		log.Fatal(err)
	}
}

// numberOf returns a field of a message of numbers; 0 if it is absent.
func numberOf(message []byte, field protowire.Number) uint64 {
	for len(message) > 0 {
		number, _, tag := protowire.ConsumeTag(message)
		value, size := protowire.ConsumeVarint(message[tag:])
		if number == field {
			return value
		}
		message = message[tag+size:]
	}
	return 0
}
