package steps

import "fmt"

// All takes all steps on each of the driver's nodes.
func (l *TargetLife) All(driver, version string) {
	l.onNodes(driver, version, func(first bool) {
		l.wholeLife()
		l.portalGrows()
		l.twoAtOnce()
		l.reboot()
		if !first {
			return
		}
		if l.Kills != KillsNever {
			l.restarts()
		}
		if l.More != nil {
			l.More(l)
		}
	})
}

func (l *TargetLife) wholeLife() {
	volume := l.newVolume()
	l.fresh(volume)
	l.Step("stage, from a portal that is not registered", func() error {
		return l.verified(l.stage(volume), connected(volume))
	})
	l.Step("stage what is staged", func() error { return l.verified(l.Driver.NodeStage(volume), connected(volume)) })
	l.Step("publish", func() error { return l.verified(l.publish(volume), connected(volume), offered(volume)) })
	l.Step("publish what is published", func() error {
		if err := l.write(volume.Target, "pod.txt"); err != nil {
			return err
		}
		return l.verified(l.publish(volume), offered(volume), stored(volume))
	})
	l.Step("stats", func() error { return l.stats(volume) })
	if l.Expand != nil {
		l.Step("expand", func() error { return l.verified(l.Expand(volume), connected(volume), stored(volume)) })
	}
	l.Step("unpublish", func() error {
		return l.verified(l.Driver.NodeUnpublish(volume), absent(volume.Target), connected(volume), stored(volume))
	})
	l.Step("unpublish what is not published", func() error {
		return l.verified(l.Driver.NodeUnpublish(volume), absent(volume.Target), connected(volume))
	})
	l.Step("unstage", func() error { return l.verified(l.unstage(volume), disconnected(volume), stored(volume)) })
	l.Step("unstage what is not staged", func() error { return l.verified(l.unstage(volume), disconnected(volume)) })
	l.Step("stage again, with data", func() error {
		return l.verified(l.stage(volume), connected(volume), stored(volume))
	})
	l.Step("publish again", func() error { return l.verified(l.publish(volume), offered(volume), stored(volume)) })
	l.Step("unpublish and unstage again", func() error { return l.end(volume) })
}

func (l *TargetLife) end(volume *TargetVolume) error {
	if err := l.Driver.NodeUnpublish(volume); err != nil {
		return err
	}
	return l.verified(l.unstage(volume), absent(volume.Target), disconnected(volume), stored(volume))
}

func (l *TargetLife) begin(volume *TargetVolume) error {
	if err := inTurn(func() error { return l.stage(volume) }, func() error { return l.publish(volume) }); err != nil {
		return err
	}
	return l.verified(l.write(volume.Target, "pod.txt"), connected(volume), offered(volume), stored(volume))
}

func (l *TargetLife) stats(volume *TargetVolume) error {
	total, used, err := l.Driver.NodeStats(volume)
	if err != nil {
		return err
	}
	return l.Then(func(node *Node) error {
		data, err := node.FindTarget(volume.IQN).Disk[0].Data()
		if err == nil && (total != int64(data.SizeBytes) || used < 4096 || used > total) {
			err = fmt.Errorf("%d bytes, %d used, of a volume of %d", total, used, data.SizeBytes)
		}
		return err
	})
}

// portalGrows is storage that makes a target for each volume, behind one portal.
func (l *TargetLife) portalGrows() {
	first, second := l.newVolume(), l.newVolume()
	l.fresh(first)
	l.Step("stage and publish the portal's first target", func() error { return l.begin(first) })
	l.Step("stage and publish a target that appeared at the registered portal", func() error {
		if err := l.appear(second); err != nil {
			return err
		}
		return l.verified(l.begin(second), connected(first), offered(first))
	})
	l.Step("unpublish and unstage the first, the second in use", func() error {
		return l.verified(l.end(first), connected(second), offered(second), stored(second))
	})
	l.Step("unpublish and unstage the second", func() error { return l.end(second) })
}

func (l *TargetLife) twoAtOnce() {
	volumes := []*TargetVolume{l.newVolume(), l.newVolume()}
	l.fresh(volumes...)
	each := func(name string, action func(*TargetVolume) error, check func(*TargetVolume) func(*Node) error) {
		l.Step("two volumes at once: "+name, func() error {
			return l.verified(atOnce(volumes, action), check(volumes[0]), check(volumes[1]))
		})
	}
	each("stage", l.stage, connected)
	each("publish", l.publish, offered)
	each("stats", l.stats, connected)
	each("unpublish", l.Driver.NodeUnpublish, func(volume *TargetVolume) func(*Node) error { return absent(volume.Target) })
	each("unstage", l.unstage, disconnected)
}

// reboot: no driver asks for a session that returns by itself.
func (l *TargetLife) reboot() {
	volume := l.newVolume()
	l.fresh(volume)
	l.Step("stage and publish before a reboot", func() error { return l.begin(volume) })
	l.Step("reboot: links and mounted folders persist, the session does not", func() error {
		return l.verified(l.Reboot(), offered(volume), func(node *Node) error {
			if entry, _ := node.At(volume.Stage); entry == nil || entry.MountedVolumeID == "" {
				return fmt.Errorf("%s is %+v", volume.Stage, entry)
			}
			if node.FindTarget(volume.IQN).Connected {
				return fmt.Errorf("%s is connected", volume.IQN)
			}
			return nil
		})
	})
	l.Step("stage after the reboot", func() error {
		return l.verified(repeat(2, func() error { return l.stage(volume) }), connected(volume), stored(volume))
	})
	l.Step("publish after the reboot", func() error { return l.verified(l.publish(volume), offered(volume)) })
	l.Step("stats after the reboot", func() error { return l.stats(volume) })
	l.Step("unpublish and unstage after the reboot", func() error { return l.end(volume) })
}

// restarts kills the service before each rpc of stage and unstage.
func (l *TargetLife) restarts() {
	volume := l.newVolume()
	stage := func() error { return l.stage(volume) }
	unstage := func() error { return l.unstage(volume) }
	l.fresh(volume)
	l.killedBefore("*", "stage", func() error { return inTurn(stage, unstage) }, stage, stage,
		func() error { return l.Then(connected(volume)) })
	l.fresh(volume)
	l.killedBefore("*", "unstage", stage, unstage, func() error { return l.mended(volume) },
		func() error {
			if !l.IgnoresErrors {
				return l.Then(disconnected(volume))
			}
			// The target may stay connected: the kubelet does not call again.
			return inTurn(stage, unstage, func() error { return l.Then(disconnected(volume)) })
		})
}

// Raw is a step with a new target, of which `look` may try the staging; its disk has to stay without a file system.
func (l *TargetLife) Raw(name string, look func(stage func() error) error) {
	volume := l.newVolume()
	l.fresh(volume)
	l.Step(name, func() error {
		return l.verified(look(func() error { return l.stage(volume) }), func(node *Node) error {
			for _, partition := range node.FindTarget(volume.IQN).Disk[0].Partition {
				if partition.Volume != nil && partition.Volume.FileSystem != "" {
					return fmt.Errorf("it has the file system %s", partition.Volume.FileSystem)
				}
			}
			return nil
		})
	})
}
