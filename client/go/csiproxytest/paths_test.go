package csiproxytest

import "testing"

func TestMountedAtFindsAVolumeThatAlsoHasADriveLetter(t *testing.T) {
	const id = `\\?\Volume{00000000-c511-4c0d-9000-000000000001}\`
	state := State{Disks: []Disk{{Partitions: []Partition{
		{Volume: &Volume{DriveLetter: "C", Files: []File{{Path: "mounted", MountedVolumeID: id}}}},
		{Volume: &Volume{ID: id, DriveLetter: "D"}},
	}}}}
	for path, want := range map[string]string{`C:\mounted`: id, `D:\`: "", `C:\`: ""} {
		if got := state.MountedAt(path); got != want {
			t.Errorf("MountedAt(%s) = %q, want %q", path, got, want)
		}
	}
}
