package main

import (
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strings"

	"csi-proxy.example/integration/drivers/steps"
	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	storage "github.com/kubernetes-csi/csi-proxy/v2/api/storage/v1alpha1"
)

// What the service may use at most during an attack; it may also use half of its descriptors.
// measure.go limits how much slower the calls of other clients may become.
const (
	mostMemory  = 64 << 10 // KiB
	mostThreads = 400
)

const plugins = root + `\plugins\`

//go:embed bounds.textproto
var boundsNode string

// The objects of the honest tenant in bounds.textproto.
const (
	// The directory that storm.textproto contains.
	mountPoint    = plugins + `kubernetes.io\csi`
	mountedVolume = `\\?\Volume{00000000-c511-4c0d-9000-000000000002}\`
	stagedDisk    = 2
	honestShare   = `\\honest\data`
)

// honestTenant returns the clients of a tenant that never uses the attacker's objects.
func honestTenant() []client {
	return []client{
		{"disk-v1", []step{invokes("/v1.Disk/GetDiskState", &disk.GetDiskStateRequest{DiskNumber: 1})}},
		{"filesystem-v1", []step{
			invokes(mkdir, &filesystem.MkdirRequest{Path: plugins + "new"}),
			invokes("/v1.Filesystem/Rmdir", &filesystem.RmdirRequest{Path: plugins + "new"})}},
		{"volume-v1", []step{
			invokes("/v1.Volume/MountVolume", &volume.MountVolumeRequest{VolumeId: mountedVolume, TargetPath: mountPoint}),
			invokes("/v1.Volume/UnmountVolume", &volume.UnmountVolumeRequest{VolumeId: mountedVolume, TargetPath: mountPoint})}},
		{"disk-v1", []step{invokes("/v1.Disk/ListDiskIDs", &disk.ListDiskIDsRequest{})}},
		{"disk-v1", []step{invokes("/v1.Disk/Rescan", &disk.RescanRequest{})}},
		{"storage-v1alpha1", []step{
			invokes("/v1alpha1.Storage/StageVolume", &storage.StageVolumeRequest{
				Disk: &storage.DiskSelector{Number: fmt.Sprint(stagedDisk)}, TargetPath: plugins + "staged"}),
			invokes("/v1alpha1.Storage/UnstageVolume", &storage.UnstageVolumeRequest{TargetPath: plugins + "staged", KeepOnline: true})}},
		{"storage-v1alpha1", []step{
			invokes("/v1alpha1.Storage/StageShare", &storage.StageShareRequest{
				RemotePath: honestShare, TargetPath: plugins + "share", Username: "honest", Password: "password"}),
			invokes("/v1alpha1.Storage/UnstageShare", &storage.UnstageShareRequest{TargetPath: plugins + "share"})}},
	}
}

// The calls of the honest tenant that the table shows.
var boundedCalls = []string{"GetDiskState", "Mkdir", "MountVolume", "ListDiskIDs", "Rescan", "StageVolume", "UnstageShare"}

// bounds prints how much one hostile tenant can take from the service and from an honest tenant. Linux only. A short
// run has few attacks and no limit of time.
func bounds(service *steps.Service, o options) (bool, error) {
	latencies, err := os.ReadFile(o.scenario)
	if err != nil {
		return false, err
	}
	fmt.Printf("| attack | RSS, MB | threads | descriptors | CPU, %% | %s | verdict |\n", strings.Join(boundedCalls, " | "))
	fmt.Println(strings.Repeat("|---", 6+len(boundedCalls)) + "|")
	passed := true
	for _, attack := range boundsAttacks {
		if (o.only != "" && o.only != attack.name) || (o.short && !attack.short) {
			continue
		}
		r, err := measure(service, boundsNode+string(latencies), honestTenant(), attack, o)
		if err != nil {
			return false, fmt.Errorf("%s: %w", attack.name, err)
		}
		wrong := r.beyondBounds(o)
		verdict := "holds"
		if wrong != "" {
			verdict, passed = "FAILED: "+wrong, false
		}
		fmt.Printf("| %s | %v | %s |\n", attack.name, r.bounds(), verdict)
	}
	return passed, nil
}

// bounds returns the figures for the table Bounds.
func (r *result) bounds() string {
	cells := []string{fmt.Sprint(r.peak >> 10), fmt.Sprint(r.threads), fmt.Sprintf("%d of %d", r.descriptors, r.limit),
		fmt.Sprint(r.cpuPercent)}
	for _, call := range boundedCalls {
		cells = append(cells, r.before.both(call)+" -> "+r.during.both(call))
	}
	return strings.Join(cells, " | ")
}

// both returns p50 and p99 of a call, in milliseconds.
func (p phase) both(call string) string {
	milliseconds := func(part float64) float64 { return float64(p.quantile(part, call).Microseconds()) / 1000 }
	return fmt.Sprintf("%.1f, %.1f", milliseconds(0.5), milliseconds(0.99))
}

// beyondBounds describes what an attack took beyond the limits; empty if it took no more.
func (r *result) beyondBounds(o options) string {
	var reasons []string
	if r.gone {
		reasons = append(reasons, "the service is gone")
	}
	if r.peak > mostMemory {
		reasons = append(reasons, "memory")
	}
	if r.threads > mostThreads {
		reasons = append(reasons, "threads")
	}
	if r.descriptors > r.limit/2 {
		reasons = append(reasons, "descriptors")
	}
	for _, call := range boundedCalls {
		idle, attacked := r.before.quantile(0.99, call), r.during.quantile(0.99, call)
		switch {
		case o.short:
		case idle == 0 || attacked == 0:
			reasons = append(reasons, "no "+call)
		case attacked > slowerLimit*idle && attacked > quick:
			reasons = append(reasons, fmt.Sprintf("p99 of %s x%.1f", call, float64(attacked)/float64(idle)))
		}
	}
	if refused := slices.Concat(r.before.refused, r.during.refused); len(refused) > 0 {
		reasons = append(reasons, fmt.Sprintf("%d honest calls refused: %v", len(refused), refused[0]))
	}
	return strings.Join(reasons, "; ")
}
