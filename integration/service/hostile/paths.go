package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"csi-proxy.example/drivers/steps"
	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	oldDisk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1beta1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	smb "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

const (
	root     = `C:\var\lib\kubelet`
	volumeID = `\\?\Volume{00000000-c511-4c0d-9000-000000000001}\`
	// Part of the names that no call may reach or reveal.
	forbidden = "kubelet-secret"
)

// The parts of hostile text. Windows, a parser, or each of them in its own way treats them specially.
var (
	beginnings = []string{
		root, root, root, `c:/VAR/lib/kubelet`, `\\?\C:\var\lib\kubelet`, `\\.\C:\var\lib\kubelet`, `\??\C:\var\lib\kubelet`,
		`\\?\GLOBALROOT\Device\HarddiskVolume1\var\lib\kubelet`, `\\?\UNC\localhost\C$\var\lib\kubelet`,
		`\\localhost\C$\var\lib\kubelet`, `\\127.0.0.1@80\c$`, `//?/C:`, `\var\lib\kubelet`, `/var/lib/kubelet`, `C:`, `C:var`, `\`, ``,
		`D:\`, `\Device\HarddiskVolume1`, volumeID, `C:\var\lib\kubelet-secret`, `C:\var\lib\kubelet.`, `C:\var\lib\kubelet `,
		`C:\var\lib\KUBELE~1`, `C:\VAR\lib\kubelet:x`, `C:\var\lib\kubelet::$INDEX_ALLOCATION`, `file:///C:/var/lib/kubelet`, `%SystemRoot%`,
	}
	separators = []string{`\`, `\`, `\`, `/`, `\\`, `//`, `\/`, `\.\`, `/./`, "", "\u2215", "\uff3c", "\u00a5", "\x00"}
	components = []string{
		"..", "..", ".", "...", ".. ", " ..", "..\u200b", "\uff0e\uff0e", "%2e%2e", "..%5c", "..:", "pods", "pod", "PODS", "volumes",
		"out", "OUT", "junction", "out.", "out ", "out::$DATA", "out:$I30:$INDEX_ALLOCATION", "Windows", "System32", "drivers",
		"NUL", "con", "COM1", "COM\u00b9", "nul.txt", "aux ", "CONIN$", "a:b", "a::$DATA", "*", "?", "<", "|", "\"", "PROGRA~1", "KUBELE~2",
		"\u202etxt", "e\u0301", "\u212a", "\u0130", "ſ", "a\x00b", "a\nb", "$Extend", "$MFT", "pagefile.sys", "",
	}
	numbers = []uint32{1, 2, 63, 1 << 7, 1 << 8, 1 << 15, 1 << 16, 1<<31 - 1, 1 << 31, 1<<32 - 1}
)

// tame lists harmless names, and the names of links that lead outside.
var tame = []string{"pods", "pod", "PODS", "volumes", "out", "OUT", "junction", "a", "b", "plugins", "kubernetes.io", "csi"}

// secrets lists names that exist only outside. Only reading calls use them, because other calls could create them.
var secrets = append([]string{forbidden, "key", "out", "junction"}, components...)

// generator makes hostile text from a seed.
type generator struct{ *rand.Rand }

func (g generator) of(words []string) string { return words[g.Intn(len(words))] }

// path is usually wrong in at most one place, so that checks behind the first one are reached.
func (g generator) path(components []string) string {
	if g.Intn(3) > 0 {
		words := []string{root}
		for i := g.Intn(6); i > 0; i-- {
			words = append(words, g.of(tame))
		}
		if at := g.Intn(3 * len(words)); at < len(words) {
			words[at] = g.of(components)
		}
		if text := strings.Join(words, `\`); g.Intn(8) > 0 {
			return text
		} else {
			return g.mangled(text)
		}
	}
	text := g.of(beginnings)
	for i := g.Intn(8); i > 0; i-- {
		text += g.of(separators) + g.of(components)
	}
	return g.mangled(text)
}

func (g generator) id() string {
	text := volumeID
	switch g.Intn(4) {
	case 0:
		text += g.of(components)
	case 1:
		text = g.of(beginnings) + text
	case 2:
		text = strings.ToUpper(text[:g.Intn(len(text))])
	}
	if text = g.mangled(text); text == volumeID {
		text += g.of([]string{"..", "x", "\x00", `\`})
	}
	return text
}

// mangled sometimes changes a few characters, and rarely makes the text very long.
func (g generator) mangled(text string) string {
	runes := []rune(text)
	for g.Intn(3) == 0 && len(runes) > 0 {
		at := g.Intn(len(runes))
		switch g.Intn(4) {
		case 0:
			runes = slices.Delete(runes, at, at+1)
		case 1:
			runes = slices.Insert(runes, at, []rune(g.of(separators))...)
		case 2:
			runes = slices.Insert(runes, at, rune(g.Intn(0x300)))
		case 3:
			runes[at] ^= 0x20
		}
	}
	text = string(runes)
	if g.Intn(500) == 0 {
		text += strings.Repeat(`\`+strings.Repeat("x", 1+g.Intn(300)), 1+g.Intn(300))
	}
	return strings.ToValidUTF8(text, string(utf8.RuneError))
}

// victim has the clients of the attacked service.
type victim struct {
	files    filesystem.FilesystemClient
	disks    disk.DiskClient
	oldDisks oldDisk.DiskClient
	volumes  volume.VolumeClient
	shares   smb.SmbClient
}

func newVictim(count *answers) (*victim, error) {
	var conns []*grpc.ClientConn
	for _, api := range []string{"filesystem-v1", "disk-v1", "disk-v1beta1", "volume-v1", "smb-v1"} {
		conn, err := connect(api, grpc.WithUnaryInterceptor(count.intercept))
		if err != nil {
			return nil, err
		}
		conns = append(conns, conn)
	}
	return &victim{filesystem.NewFilesystemClient(conns[0]), disk.NewDiskClient(conns[1]), oldDisk.NewDiskClient(conns[2]),
		volume.NewVolumeClient(conns[3]), smb.NewSmbClient(conns[4])}, nil
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

// call makes one hostile call. text is what was sent. An error is a finding.
func (v *victim) call(ctx context.Context, g generator) (name, text string, err error) {
	path := g.path(components)
	switch g.Intn(16) {
	case 0, 1, 2:
		path = g.path(secrets)
		out, _ := v.files.PathExists(ctx, &filesystem.PathExistsRequest{Path: path})
		if out.GetExists() && (strings.Contains(strings.ToLower(path), forbidden) || strings.Contains(strings.ToLower(path), "key")) {
			err = fmt.Errorf("tells that it exists")
		}
		return "PathExists", path, err
	case 3, 4:
		v.files.Mkdir(ctx, &filesystem.MkdirRequest{Path: path})
		return "Mkdir", path, nil
	case 5, 6:
		v.files.Rmdir(ctx, &filesystem.RmdirRequest{Path: path, Force: g.Intn(2) == 0})
		return "Rmdir", path, nil
	case 7:
		v.files.IsSymlink(ctx, &filesystem.IsSymlinkRequest{Path: path})
		return "IsSymlink", path, nil
	case 8, 9:
		source := g.path(components)
		v.files.CreateSymlink(ctx, &filesystem.CreateSymlinkRequest{SourcePath: source, TargetPath: path})
		return "CreateSymlink", source + " -> " + path, nil
	case 10:
		v.volumes.MountVolume(ctx, &volume.MountVolumeRequest{VolumeId: spareVolume, TargetPath: path})
		return "MountVolume", path, nil
	case 11:
		id := spareVolume
		if g.Intn(4) == 0 {
			id = g.id()
		}
		v.volumes.UnmountVolume(ctx, &volume.UnmountVolumeRequest{VolumeId: id, TargetPath: path})
		return "UnmountVolume", path, nil
	case 12:
		id := g.id()
		v.volumes.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeId: id})
		v.volumes.ResizeVolume(ctx, &volume.ResizeVolumeRequest{VolumeId: id, SizeBytes: g.Int63() - g.Int63()})
		v.volumes.GetVolumeStats(ctx, &volume.GetVolumeStatsRequest{VolumeId: id})
		return "FormatVolume", id, nil
	case 13:
		number := numbers[g.Intn(len(numbers))] + uint32(g.Intn(3))
		if number == 0 {
			number = 7
		}
		v.disks.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: number})
		v.disks.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: false})
		return "SetDiskState", fmt.Sprint(number), nil
	case 14:
		id := g.of([]string{"-0 ", "+0", "00 ", "0x0", "4294967296", "18446744073709551616", "0\x00", "٠", "0.0", "1e0", "", " ", `\\.\PhysicalDrive0`}) + g.mangled("")
		v.oldDisks.PartitionDisk(ctx, &oldDisk.PartitionDiskRequest{DiskID: id})
		return "PartitionDisk", id, nil
	default:
		v.shares.NewSmbGlobalMapping(ctx, &smb.NewSmbGlobalMappingRequest{RemotePath: path, LocalPath: g.path(components), Username: g.of(components), Password: "x"})
		return "NewSmbGlobalMapping", path, nil
	}
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
				// The administrator's two links are expected.
				case file.Target != "" && !strings.HasSuffix(path, `\pod\out`) && !strings.HasSuffix(path, `\pod\junction`):
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

// batch is the number of calls between two checks of the node.
const batch = 20000

func hostilePaths(service *steps.Service, o options) (bool, error) {
	if err := service.Start(node + spareDisk); err != nil {
		return false, err
	}
	var count answers
	victim, err := newVictim(&count)
	if err != nil {
		return false, err
	}
	prepare := func() (string, error) {
		if err := service.Call("Reset", struct{}{}); err != nil {
			return "", err
		}
		for link, junction := range map[string]bool{"out": false, "junction": true} {
			if err := service.Call("MakeLink", map[string]any{"path": root + `\pods\pod\` + link,
				"target": `C:\var\lib\` + forbidden, "junction": junction}); err != nil {
				return "", err
			}
		}
		return outside(service)
	}
	fmt.Printf("%d hostile paths, names and ids, seed %d\n", o.paths, o.seed)
	var sent atomic.Int64
	began := time.Now()
	for round := int64(0); sent.Load() < int64(o.paths); round++ {
		before, err := prepare()
		if err != nil {
			return false, err
		}
		var all sync.WaitGroup
		var mutex sync.Mutex
		var findings []string
		for caller := int64(0); caller < 16; caller++ {
			all.Add(1)
			go func() {
				defer all.Done()
				g := generator{rand.New(rand.NewSource(o.seed + round*16 + caller))}
				for i := 0; i < batch/16; i++ {
					ctx, cancel := context.WithTimeout(context.Background(), patience)
					name, text, err := victim.call(ctx, g)
					if ctx.Err() != nil {
						err = ctx.Err()
					}
					cancel()
					sent.Add(1)
					if err != nil {
						mutex.Lock()
						findings = append(findings, fmt.Sprintf("%s(%q): %v", name, text, err))
						mutex.Unlock()
					}
				}
			}()
		}
		all.Wait()
		after, err := outside(service)
		if err != nil {
			return false, fmt.Errorf("after %d calls: %w", sent.Load(), err)
		}
		if before != after {
			findings = append(findings, fmt.Sprintf("the node was:\n%s\nand is now:\n%s", before, after))
		}
		if len(findings) > 0 {
			fmt.Printf("FAILED in round %d of seed %d:\n%s\n", round, o.seed, strings.Join(findings, "\n"))
			return false, nil
		}
	}
	for _, answer := range slices.Sorted(maps.Keys(count.counts)) {
		fmt.Printf("%9d %s\n", count.counts[answer], answer)
	}
	fmt.Printf("%d sent in %v, none escaped\n", sent.Load(), time.Since(began).Round(time.Second))
	return true, nil
}
