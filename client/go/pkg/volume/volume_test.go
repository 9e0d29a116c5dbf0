package volume

import (
	"context"
	"errors"
	"testing"

	volumeapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"
)

// lister is a host API that lists volumes or fails.
type lister struct {
	volumeapi.HostAPI
	ids []string
	err error
}

func (l lister) ListVolumesOnDisk(disk, partition uint32) ([]string, error) { return l.ids, l.err }

func TestPassesVolumesAndErrorsOn(t *testing.T) {
	failure := errors.New("the disk is gone")
	for _, c := range []lister{
		{},
		{ids: []string{`\\?\Volume{452e318a-5cde-421e-9831-b9853c521012}\`}},
		{ids: []string{"one", "two"}},
		{err: failure},
	} {
		volumes, _ := New(c)
		listed, err := volumes.ListVolumesOnDisk(context.Background(), &ListVolumesOnDiskRequest{DiskNumber: 1})
		if !errors.Is(err, c.err) || len(listed.VolumeIDs) != len(c.ids) {
			t.Fatalf("%+v: %v, %v", c, listed, err)
		}
		for i, id := range c.ids {
			if listed.VolumeIDs[i] != id {
				t.Errorf("%+v: %v", c, listed)
			}
		}
	}
}

func TestVolumeRegexp(t *testing.T) {
	const id = `\\?\Volume{452e318a-5cde-421e-9831-b9853c521012}\`
	if found := volumeapi.VolumeRegexp.FindString(id); found != "Volume{452e318a-5cde-421e-9831-b9853c521012}" {
		t.Error(found)
	}
}
