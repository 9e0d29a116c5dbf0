package steps

import (
	"errors"
	"fmt"
)

// All takes all steps on each of the driver's nodes.
func (l *BlockLife) All(driver, version string) {
	if l.OnMachine() {
		l.onMachine(driver, version, func() {
			l.wholeLife()
			l.rawDisk()
			l.twoAtOnce()
		})
		return
	}
	l.onNodes(driver, version, func(first bool) {
		l.wholeLife()
		l.rawDisk()
		l.diskWithData()
		l.twoAtOnce()
		l.pulled()
		l.reboot()
		if !first {
			return
		}
		l.restarts()
		if l.More != nil {
			l.More()
		}
	})
}

// fresh resets the node and attaches two disks that answer no inquiry. Drivers must still find their own disk.
func (l *BlockLife) fresh() {
	mute := func() error {
		return l.attach(l.newVolume(), map[string]any{"page83_error": map[string]any{"code": 21}, "serial_number": "mute"})
	}
	l.Scenario(l.node, func() error {
		if l.OnMachine() {
			// The machine's own disks serve as the disks that a driver must not find.
			return nil
		}
		return inTurn(mute, mute)
	})
}

func (l *BlockLife) wholeLife() {
	l.fresh()
	volume := l.newVolume()
	l.Step("find the disk, which comes later, and no other before", func() error {
		if err := l.order(volume, nil); err != nil {
			return err
		}
		var wrong error
		return errors.Join(until(func() error {
			found, err := l.Driver.Find(volume)
			if err == nil && found != volume.Disk {
				wrong = fmt.Errorf("found disk %d, not %d", found, volume.Disk)
			}
			return err
		}), wrong)
	})
	l.Step("stage", func() error { return l.verified(l.stage(volume), staged(volume)) })
	l.Step("stage what is staged", func() error { return l.verified(l.Driver.NodeStage(volume), staged(volume)) })
	l.Step("publish", func() error { return l.verified(l.publish(volume), staged(volume), published(volume)) })
	l.Step("publish what is published", func() error {
		if err := l.write(volume.Target, "pod.txt"); err != nil {
			return err
		}
		return l.verified(l.publish(volume), published(volume), keeps(volume, "pod.txt"))
	})
	l.Step("stats", func() error { return l.stats(volume) })
	l.Step("expand after the cloud grew the disk", func() error {
		if err := l.grow(volume, 2*gib); err != nil {
			return err
		}
		return l.verified(l.Driver.NodeExpand(volume), staged(volume), filled(volume), keeps(volume, "pod.txt"))
	})
	l.Step("expand what is expanded", func() error {
		return l.verified(l.Driver.NodeExpand(volume), staged(volume), filled(volume))
	})
	l.Step("unpublish", func() error {
		return l.verified(l.Driver.NodeUnpublish(volume), absent(volume.Target), staged(volume), keeps(volume, "pod.txt"))
	})
	l.Step("unpublish what is not published", func() error {
		return l.verified(l.Driver.NodeUnpublish(volume), absent(volume.Target), staged(volume))
	})
	l.Step("unstage", func() error {
		return l.verified(l.Driver.NodeUnstage(volume), absent(volume.Stage), l.resting(volume), keeps(volume, "pod.txt"))
	})
	l.Step("unstage what is not staged", func() error {
		return l.verified(l.Driver.NodeUnstage(volume), absent(volume.Stage), l.resting(volume))
	})
	l.Step("stage again, with data", func() error {
		return l.verified(l.stage(volume), staged(volume), filled(volume), keeps(volume, "pod.txt"))
	})
	l.Step("publish again", func() error {
		return l.verified(l.publish(volume), published(volume), keeps(volume, "pod.txt"))
	})
	l.Step("unpublish and unstage again", func() error { return l.end(volume) })
}

// end unpublishes and unstages a volume.
func (l *BlockLife) end(volume *BlockVolume) error {
	if err := l.Driver.NodeUnpublish(volume); err != nil {
		return err
	}
	return l.verified(l.Driver.NodeUnstage(volume), absent(volume.Target), absent(volume.Stage), l.resting(volume))
}

func (l *BlockLife) stats(volume *BlockVolume) error {
	total, used, err := l.Driver.NodeStats(volume)
	if err != nil {
		return err
	}
	return l.Then(func(node *Node) error {
		data, err := node.FindDisk(volume.Disk).Data()
		if err == nil && (total != int64(data.SizeBytes) || used < 4096 || used > total) {
			err = fmt.Errorf("%d bytes, %d used, of a volume of %d", total, used, data.SizeBytes)
		}
		return err
	})
}

// rawDisk stages a new disk under SAN policy Offline Shared.
func (l *BlockLife) rawDisk() {
	l.fresh()
	volume := l.newVolume()
	l.Step("stage a raw disk that arrives offline and read-only", func() error {
		if err := l.attach(volume, map[string]any{"offline": true, "read_only": true}); err != nil {
			return err
		}
		return l.verified(l.stage(volume), staged(volume), filled(volume))
	})
	l.Step("publish and write to it", func() error {
		if err := l.publish(volume); err != nil {
			return err
		}
		return l.verified(l.write(volume.Target, "pod.txt"), keeps(volume, "pod.txt"))
	})
	l.Step("unpublish and unstage it", func() error { return l.end(volume) })
}

// diskWithData stages a disk that another node has formatted.
func (l *BlockLife) diskWithData() {
	if !l.Traits.TakesOffline {
		return
	}
	l.fresh()
	volume := l.newVolume()
	l.Step("stage a disk that arrives offline, read-only and with data", func() error {
		err := l.attach(volume, map[string]any{"offline": true, "read_only": true, "style": "GPT",
			"partition": []map[string]any{{"type": "MICROSOFT_RESERVED", "size_bytes": "16777216"}, {
				"size_bytes": "10000000000",
				"volume": map[string]any{"file_system": "NTFS", "file": []map[string]any{
					{"path": "old.txt", "kind": "FILE", "size_bytes": "4096"}}}}}})
		if err != nil {
			return err
		}
		return l.verified(l.stage(volume), staged(volume), keeps(volume, "old.txt"))
	})
	l.Step("unpublish and unstage it, never published", func() error { return l.end(volume) })
}

func (l *BlockLife) twoAtOnce() {
	l.fresh()
	volumes := []*BlockVolume{l.newVolume(), l.newVolume()}
	each := func(name string, action func(*BlockVolume) error, checks ...func(*BlockVolume) func(*Node) error) {
		l.Step("two volumes at once: "+name, func() error {
			if err := AtOnce(volumes, action); err != nil {
				return err
			}
			for _, volume := range volumes {
				for _, check := range checks {
					if err := l.Then(check(volume)); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	each("stage", func(volume *BlockVolume) error {
		if err := l.attach(volume, nil); err != nil {
			return err
		}
		return l.stage(volume)
	}, staged)
	each("publish", l.publish, staged, published)
	each("stats", l.stats)
	each("expand", func(volume *BlockVolume) error {
		if err := l.grow(volume, gib); err != nil {
			return err
		}
		return l.Driver.NodeExpand(volume)
	}, staged, filled)
	each("unpublish", l.Driver.NodeUnpublish, func(volume *BlockVolume) func(*Node) error { return absent(volume.Target) })
	each("unstage", l.Driver.NodeUnstage, func(volume *BlockVolume) func(*Node) error { return absent(volume.Stage) },
		l.resting)
}

// pulled detaches a disk in use, as the cloud does if it considers the node dead.
func (l *BlockLife) pulled() {
	l.fresh()
	volume := l.newVolume()
	l.Step("stage and publish what will be pulled", func() error { return l.begin(volume) })
	l.Step("unpublish after the disk was pulled", func() error {
		if err := l.detach(volume); err != nil {
			return err
		}
		return l.verified(l.Driver.NodeUnpublish(volume), absent(volume.Target))
	})
	l.Step("unstage after the disk was pulled", func() error {
		return l.verified(l.unstageAgain(volume), absent(volume.Stage))
	})
	l.Step("stage the next disk at the same place", func() error {
		if err := l.attach(volume, nil); err != nil {
			return err
		}
		return l.verified(l.stage(volume), staged(volume))
	})
}

// begin stages and publishes a new volume and writes to it.
func (l *BlockLife) begin(volume *BlockVolume) error {
	if err := l.attach(volume, nil); err != nil {
		return err
	}
	if err := l.stage(volume); err != nil {
		return err
	}
	if err := l.publish(volume); err != nil {
		return err
	}
	return l.verified(l.write(volume.Target, "pod.txt"), staged(volume), published(volume))
}

func (l *BlockLife) reboot() {
	l.fresh()
	volume := l.newVolume()
	l.Step("stage and publish before a reboot", func() error { return l.begin(volume) })
	l.Step("reboot: links and mounted folders persist", func() error {
		return l.verified(l.Reboot(), staged(volume), published(volume), keeps(volume, "pod.txt"))
	})
	l.Step("stage after the reboot", func() error {
		return l.verified(repeat(2, func() error { return l.stage(volume) }), staged(volume), keeps(volume, "pod.txt"))
	})
	l.Step("publish after the reboot", func() error {
		return l.verified(l.publish(volume), published(volume), keeps(volume, "pod.txt"))
	})
	l.Step("stats after the reboot", func() error { return l.stats(volume) })
	l.Step("unpublish and unstage after the reboot", func() error { return l.end(volume) })
}

// restarts kills the service in each rpc, before each call that changes the node.
func (l *BlockLife) restarts() {
	var volume *BlockVolume
	// Each sweep has a new node, so that a failed sweep does not hide the next.
	fresh := func() {
		l.fresh()
		volume = nil
	}
	begun := func() error {
		if volume != nil {
			return nil
		}
		volume = l.newVolume()
		if err := l.attach(volume, nil); err != nil {
			return err
		}
		return l.stage(volume)
	}
	stage := func() error { return l.stage(volume) }
	publish := func() error { return l.publish(volume) }
	unpublish := func() error { return l.Driver.NodeUnpublish(volume) }
	expand := func() error { return l.Driver.NodeExpand(volume) }
	unstage := func() error { return l.Driver.NodeUnstage(volume) }

	fresh()
	l.killed("stage", func() error {
		volume = l.newVolume()
		return inTurn(func() error { return l.attach(volume, nil) },
			func() error { return l.MakeDirectory(volume.Stage) })
	}, stage, stage, func() error {
		return inTurn(func() error { return l.Then(staged(volume), filled(volume)) }, unstage)
	})
	fresh()
	l.killed("publish", func() error { return inTurn(begun, unpublish) }, publish, publish,
		func() error { return l.Then(staged(volume), published(volume)) })
	fresh()
	l.killed("expand", func() error {
		return inTurn(begun, publish, func() error { return l.grow(volume, gib) })
	}, expand, expand,
		func() error { return l.Then(staged(volume), filled(volume)) })
	fresh()
	l.killed("unpublish", func() error { return inTurn(begun, publish) }, unpublish, unpublish,
		func() error { return l.Then(staged(volume), absent(volume.Target)) })
	fresh()
	l.killed("unstage", func() error {
		return inTurn(begun, stage,
			func() error { return l.write(volume.Stage, "pod.txt") })
	}, unstage, func() error { return l.unstageAgain(volume) }, func() error { return l.Then(absent(volume.Stage), keeps(volume, "pod.txt")) })
}
