package csiproxytest

import "strings"

// AssertMounted fails the test unless the volume is mounted at path, or where the links at path
// lead, for example at a target that is a link to the staging path.
func (n *Node) AssertMounted(path, volumeID string) {
	n.t.Helper()
	state := n.State()
	if at := state.MountedAt(path); !strings.EqualFold(at, volumeID) {
		n.t.Errorf("%s: %q is mounted here, not %q", path, at, volumeID)
	}
}

// AssertNotMounted fails the test if a volume is mounted at path, or where the links at path lead.
func (n *Node) AssertNotMounted(path string) {
	n.t.Helper()
	state := n.State()
	if at := state.MountedAt(path); at != "" {
		n.t.Errorf("%s: %q is mounted here", path, at)
	}
}

// AssertLink fails the test unless path is a link to target.
func (n *Node) AssertLink(path, target string) {
	n.t.Helper()
	state := n.State()
	switch file := state.At(path); {
	case file == nil:
		n.t.Errorf("%s: is not there", path)
	case file.Target == "":
		n.t.Errorf("%s: is not a link", path)
	case !strings.EqualFold(fullPath(file.Target), fullPath(target)):
		n.t.Errorf("%s: leads to %s, not to %s", path, file.Target, target)
	}
}

// AssertExists fails the test unless path exists. A dangling link exists.
func (n *Node) AssertExists(path string) {
	n.t.Helper()
	state := n.State()
	if state.At(path) == nil {
		n.t.Errorf("%s: is not there", path)
	}
}

// AssertAbsent fails the test if path exists.
func (n *Node) AssertAbsent(path string) {
	n.t.Helper()
	state := n.State()
	if state.At(path) != nil {
		n.t.Errorf("%s: is still there", path)
	}
}

// AssertOnline fails the test unless the disk exists and is online.
func (n *Node) AssertOnline(disk uint32) { n.t.Helper(); n.assertDisk(disk, true) }

// AssertOffline fails the test unless the disk exists and is offline.
func (n *Node) AssertOffline(disk uint32) { n.t.Helper(); n.assertDisk(disk, false) }

func (n *Node) assertDisk(number uint32, online bool) {
	n.t.Helper()
	state := n.State()
	switch disk := state.Disk(number); {
	case disk == nil:
		n.t.Errorf("disk %d: is not there", number)
	case disk.Offline == online:
		n.t.Errorf("disk %d: is online: %t", number, !online)
	}
}

// AssertMapped fails the test unless `\\host\share` is mapped by that user and can be read.
func (n *Node) AssertMapped(share, username string) {
	n.t.Helper()
	state := n.State()
	switch mapping := state.Mapping(share); {
	case mapping == nil:
		n.t.Errorf("%s: is not mapped", share)
	case mapping.Broken:
		n.t.Errorf("%s: its mapping is broken", share)
	case !strings.EqualFold(mapping.Username, username):
		n.t.Errorf("%s: is mapped for %s, not for %s", share, mapping.Username, username)
	}
}

// AssertNotMapped fails the test if `\\host\share` is mapped.
func (n *Node) AssertNotMapped(share string) {
	n.t.Helper()
	state := n.State()
	if state.Mapping(share) != nil {
		n.t.Errorf("%s: is mapped", share)
	}
}
