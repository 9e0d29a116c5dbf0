package steps

import "errors"

// All takes all steps on each of the driver's nodes.
func (l *ShareLife) All(driver, version string) {
	if l.OnMachine() {
		l.onMachine(driver, version, func() {
			l.wholeLife()
			l.oneShareTwice()
			l.twoAtOnce()
		})
		return
	}
	l.onNodes(driver, version, func(first bool) {
		l.wholeLife()
		l.oneShareTwice()
		l.twoAtOnce()
		l.newPassword()
		l.serverGone()
		l.reboot()
		if first {
			l.restarts()
		}
	})
}

func (l *ShareLife) wholeLife() {
	l.fresh()
	volume := l.newVolume("one")
	l.Step("stage", func() error { return l.verified(l.stage(volume), mapped(volume)) })
	l.Step("stage what is staged", func() error { return l.verified(l.stage(volume), mapped(volume)) })
	l.Step("publish", func() error { return l.verified(l.publish(volume), mapped(volume), linked(volume)) })
	l.Step("publish what is published", func() error {
		return l.verified(l.publish(volume), mapped(volume), linked(volume))
	})
	l.Step("unpublish", func() error {
		return l.verified(l.unpublish(volume), absent(volume.Target), mapped(volume))
	})
	l.Step("unpublish what is not published", func() error {
		return l.verified(l.unpublish(volume), absent(volume.Target), mapped(volume))
	})
	l.Step("unstage", func() error { return l.verified(l.unstage(volume), l.released(volume)) })
	l.Step("unstage what is not staged", func() error {
		return l.verified(l.unstage(volume), l.released(volume))
	})
	l.Step("stage again", func() error { return l.verified(l.stage(volume), mapped(volume)) })
	l.Step("publish again", func() error { return l.verified(l.publish(volume), linked(volume)) })
	l.Step("unpublish and unstage again", func() error { return l.end(volume) })
}

func (l *ShareLife) end(volume *ShareVolume) error {
	if err := l.unpublish(volume); err != nil {
		return err
	}
	return l.verified(l.unstage(volume), absent(volume.Target), l.released(volume))
}

// begin stages and publishes a volume.
func (l *ShareLife) begin(volume *ShareVolume) error {
	if err := l.stage(volume); err != nil {
		return err
	}
	return l.verified(l.publish(volume), mapped(volume), linked(volume))
}

// oneShareTwice checks that volumes of one share do not disturb each other.
func (l *ShareLife) oneShareTwice() {
	l.fresh()
	whole, directory := l.newVolume("one"), l.newVolume(`one\directory`)
	l.Step("stage and publish a share", func() error { return l.begin(whole) })
	l.Step("stage and publish a directory of the same share", func() error {
		return l.verified(l.begin(directory), mapped(whole), linked(whole))
	})
	l.Step("unpublish and unstage the share, the directory in use", func() error {
		if err := l.unpublish(whole); err != nil {
			return err
		}
		return l.verified(l.unstage(whole), absent(whole.Stage), mapped(directory), linked(directory))
	})
	l.Step("unpublish and unstage the directory", func() error { return l.end(directory) })
}

func (l *ShareLife) twoAtOnce() {
	l.fresh()
	volumes := []*ShareVolume{l.newVolume("one"), l.newVolume("two")}
	each := func(name string, action func(*ShareVolume) error, check func(*ShareVolume) func(*Node) error) {
		l.Step("two volumes at once: "+name, func() error {
			return l.verified(AtOnce(volumes, action), check(volumes[0]), check(volumes[1]))
		})
	}
	each("stage", l.stage, mapped)
	each("publish", l.publish, linked)
	each("unpublish", l.unpublish, func(volume *ShareVolume) func(*Node) error { return absent(volume.Target) })
	each("unstage", l.unstage, l.released)
}

// newPassword changes the password, as the rotation of a storage account's key does.
func (l *ShareLife) newPassword() {
	l.fresh()
	volume := l.newVolume("one")
	l.Step("stage and publish before the password changes", func() error { return l.begin(volume) })
	l.Step("stage with the new password", func() error {
		volume.Password = "another battery"
		err := l.Call("SetSmbPassword", map[string]any{"server": shareHost, "user": shareUser, "password": volume.Password})
		if err != nil {
			return err
		}
		return l.verified(repeat(2, func() error { return l.stage(volume) }), mapped(volume), linked(volume))
	})
}

// serverGone checks that links to a server that does not answer can be removed.
func (l *ShareLife) serverGone() {
	l.fresh()
	volume := l.newVolume("one")
	reachable := func(is bool) error {
		return l.Call("SetServerReachable", map[string]any{"server": shareHost, "reachable": is})
	}
	l.Step("stage and publish before the server goes", func() error { return l.begin(volume) })
	l.Step("stage fails while the server is gone", func() error {
		if err := reachable(false); err != nil {
			return err
		}
		if l.stage(l.newVolume("two")) == nil {
			return errors.New("a share was staged whose server does not answer")
		}
		return nil
	})
	l.Step("unpublish while the server is gone", func() error {
		return l.verified(l.unpublish(volume), absent(volume.Target))
	})
	l.Step("unstage while the server is gone", func() error {
		return l.verified(l.unstage(volume), l.released(volume))
	})
	l.Step("stage and publish once it is back", func() error {
		if err := reachable(true); err != nil {
			return err
		}
		return l.begin(volume)
	})
}

func (l *ShareLife) reboot() {
	l.fresh()
	volume := l.newVolume("one")
	l.Step("stage and publish before a reboot", func() error { return l.begin(volume) })
	l.Step("reboot: links persist, the mapping is gone", func() error {
		return l.verified(l.Reboot(), func(node *Node) error {
			for _, link := range []string{volume.Stage, volume.Target} {
				if entry := node.At(link); entry == nil || entry.Kind != "LINK" {
					return errors.New(link + " is no link any more")
				}
			}
			if node.Mapping(volume.share()) != nil {
				return errors.New("the mapping outlasts the reboot")
			}
			return nil
		})
	})
	l.Step("stage after the reboot", func() error {
		return l.verified(repeat(2, func() error { return l.stage(volume) }), mapped(volume), linked(volume))
	})
	l.Step("publish after the reboot", func() error { return l.verified(l.publish(volume), linked(volume)) })
	l.Step("unpublish and unstage after the reboot", func() error { return l.end(volume) })
}

// restarts kills the service in each rpc, before each call that changes the node.
func (l *ShareLife) restarts() {
	volume := l.newVolume("one")
	stage := func() error { return l.stage(volume) }
	publish := func() error { return l.publish(volume) }
	unpublish := func() error { return l.unpublish(volume) }
	unstage := func() error { return l.unstage(volume) }

	// A second volume keeps the share mapped. Otherwise, when the answer was lost, removing the mapping again
	// would fail (with csi-driver-smb, for good).
	other := l.newVolume("one\\directory")
	shared := func() {
		l.fresh()
		l.Step("stage another volume of the share", func() error { return l.stage(other) })
	}
	shared()
	l.killed("stage", func() error { return inTurn(unstage, func() error { return l.MakeDirectory(volume.Stage) }) },
		stage, stage, func() error { return l.Then(mapped(volume)) })
	shared()
	l.killed("publish", func() error { return inTurn(unpublish, stage) }, publish, publish,
		func() error { return l.Then(mapped(volume), linked(volume)) })
	shared()
	l.killed("unpublish", func() error { return inTurn(stage, publish) }, unpublish, unpublish,
		func() error { return l.Then(mapped(volume), absent(volume.Target)) })
	shared()
	l.killed("unstage", stage, unstage, func() error { return l.mended(volume) }, func() error { return l.Then(absent(volume.Stage), mapped(other)) })
}

// mended unstages the volume, if needed after an administrator has repaired the driver's record.
func (l *ShareLife) mended(volume *ShareVolume) error {
	err := l.unstage(volume)
	if err != nil && l.Recover != nil {
		l.Recover(volume)
		err = l.unstage(volume)
	}
	return err
}
