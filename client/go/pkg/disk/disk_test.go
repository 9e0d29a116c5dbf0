package disk

import (
	"context"
	"errors"
	"strings"
	"testing"

	diskapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
)

// stepwise is a host API without PartitionDisk, as a driver's test may have.
type stepwise struct {
	diskapi.HostAPI
	initialized, partitioned bool
	fails                    string
	asked                    []string
}

func (h *stepwise) ask(what string) error {
	h.asked = append(h.asked, what)
	if what == h.fails {
		return errors.New("it fails")
	}
	return nil
}
func (h *stepwise) IsDiskInitialized(uint32) (bool, error) {
	return h.initialized, h.ask("initialized?")
}
func (h *stepwise) InitializeDisk(uint32) error { return h.ask("initialize") }
func (h *stepwise) BasicPartitionsExist(uint32) (bool, error) {
	return h.partitioned, h.ask("partitions?")
}
func (h *stepwise) CreateBasicPartition(uint32) error { return h.ask("partition") }

func TestPartitionDiskDoesOnlyTheMissingSteps(t *testing.T) {
	for _, c := range []struct {
		initialized, partitioned bool
		fails, want              string
	}{
		{false, false, "", "initialized? initialize partitions? partition"},
		{true, false, "", "initialized? partitions? partition"},
		{true, true, "", "initialized? partitions?"},
		{false, false, "initialized?", "initialized?"},
		{false, false, "initialize", "initialized? initialize"},
		{true, false, "partitions?", "initialized? partitions?"},
		{true, false, "partition", "initialized? partitions? partition"},
	} {
		host := &stepwise{initialized: c.initialized, partitioned: c.partitioned, fails: c.fails}
		disks, _ := New(host)
		_, err := disks.PartitionDisk(context.Background(), &PartitionDiskRequest{DiskNumber: 1})
		if got := strings.Join(host.asked, " "); got != c.want || (err != nil) != (c.fails != "") {
			t.Errorf("%+v: %s, %v", c, got, err)
		}
	}
}
