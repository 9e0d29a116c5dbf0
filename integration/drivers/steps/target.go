package steps

import (
	"fmt"
	"regexp"
	"strings"
)

// TargetVolume is an iSCSI target with one disk, and where the kubelet wants the volume.
type TargetVolume struct {
	Address       string
	Port          uint32
	IQN           string
	Stage, Target string
}

// Target is a driver's node server for volumes that are iSCSI targets.
type Target interface {
	NodeStage(volume *TargetVolume) error
	NodePublish(volume *TargetVolume) error
	NodeStats(volume *TargetVolume) (total, used int64, err error)
	NodeUnpublish(volume *TargetVolume) error
	NodeUnstage(volume *TargetVolume) error
}

// TargetLife takes a driver's targets through all that happens to one.
type TargetLife struct {
	*Run
	Driver Target
	// It leaves the staging directory to the kubelet.
	LeavesFolder bool
	// It takes no error of a call for one when it unstages.
	IgnoresErrors bool
	Kills         Kills
	// Recover, if set, is what a person does so that an unstaging that failed succeeds when it is repeated.
	Recover func(volume *TargetVolume) error
	// Expand, if set, is the driver's NodeExpand.
	Expand func(volume *TargetVolume) error
	// More, if set, is what else the driver meets.
	More func(l *TargetLife)
	made int
}

// The portal of the storage, whose targets come and go.
const portalAddress = "10.20.0.7"

// initiator is the part of a scenario that says whether MSiSCSI starts by itself, and runs.
var initiator = regexp.MustCompile(`(name:\s*"MSiSCSI"[^}]*start_type:\s*)\w+([^}]*state:\s*)\w+`)

// targetText is a target of a scenario, with a raw disk.
func targetText(iqn string, number int) string {
	return fmt.Sprintf(`target { iqn: "%s" disk { number: %d size_bytes: %d bus_type: BUS_ISCSI `+
		`location: "iSCSI : Adapter 1 : Port 0 : Target %[2]d : LUN 0" page83: "6589cfc%025[2]d" serial_number: "0800%08[2]d" } } `,
		iqn, number, 10*gib)
}

// newVolume is the storage's next target, which a node that starts afterwards, or is changed by appear, has.
func (l *TargetLife) newVolume() *TargetVolume {
	l.made++
	return &TargetVolume{
		Address: portalAddress, Port: 3260, IQN: fmt.Sprintf("iqn.2019-10.example.storage:pvc-%d", l.made),
		Stage:  fmt.Sprintf(`\var\lib\kubelet\plugins\kubernetes.io\csi\%s\%04x\globalmount`, l.Run.driver, l.made),
		Target: fmt.Sprintf(`\var\lib\kubelet\pods\%04x\volumes\kubernetes.io~csi\pvc-%[1]d\mount`, l.made),
	}
}

// fresh begins anew with the cloud's node and a portal that has a target for each volume.
func (l *TargetLife) fresh(volumes ...*TargetVolume) {
	l.Scenario(l.node, func() error {
		_, scenario, err := l.Dump()
		if err != nil {
			return err
		}
		// Windows starts the initiator's service by itself only where an administrator said so, as the drivers ask.
		scenario = initiator.ReplaceAllString(scenario, "${1}AUTOMATIC${2}RUNNING")
		portal := fmt.Sprintf(` iscsi_portal { address: "%s" `, portalAddress)
		for i, volume := range volumes {
			portal += targetText(volume.IQN, 40+i)
		}
		return inTurn(func() error { return l.Start(scenario + portal + "}") }, l.reachable)
	})
}

// appear has the portal offer one more target; the service starts anew.
func (l *TargetLife) appear(volume *TargetVolume) error {
	_, scenario, err := l.Dump()
	if err != nil {
		return err
	}
	portal := fmt.Sprintf(`address:"%s"`, portalAddress)
	changed := strings.Replace(scenario, portal, portal+" "+targetText(volume.IQN, 60), 1)
	if changed == scenario {
		return fmt.Errorf("the node has no portal %s", portalAddress)
	}
	return inTurn(func() error { return l.Start(changed) }, l.reachable)
}

// stage is the kubelet's MountDevice.
func (l *TargetLife) stage(volume *TargetVolume) error {
	if err := l.MakeDirectory(volume.Stage); err != nil {
		return err
	}
	return l.Driver.NodeStage(volume)
}

// publish is the kubelet's SetUp.
func (l *TargetLife) publish(volume *TargetVolume) error {
	if err := l.MakeDirectory(volume.Target[:strings.LastIndex(volume.Target, `\`)]); err != nil {
		return err
	}
	return l.Driver.NodePublish(volume)
}

// unstage is the kubelet's UnmountDevice, which removes the directory that the driver left.
func (l *TargetLife) unstage(volume *TargetVolume) error {
	if err := l.Driver.NodeUnstage(volume); err != nil || !l.LeavesFolder || l.Then(absent(volume.Stage)) == nil {
		return err
	}
	if err := l.Then(unmounted(volume.Stage)); err != nil {
		return err
	}
	return l.Call("RemoveFolder", map[string]any{"path": Normalize(volume.Stage)})
}

// mended is unstage, after a person has helped if need be.
func (l *TargetLife) mended(volume *TargetVolume) error {
	err := l.unstage(volume)
	if err != nil && l.Recover != nil {
		if err := l.Recover(volume); err != nil {
			return err
		}
		return l.unstage(volume)
	}
	return err
}

// connected: the target is, and its disk's volume is mounted at the staging directory.
func connected(volume *TargetVolume) func(*Node) error {
	return func(node *Node) error {
		target := node.FindTarget(volume.IQN)
		if target == nil || !target.Connected || len(target.Disk) != 1 {
			return fmt.Errorf("the target %s is %+v", volume.IQN, target)
		}
		return mountedAt(node, &target.Disk[0], volume.Stage)
	}
}

// disconnected: so is the target, and nothing is at the staging directory.
func disconnected(volume *TargetVolume) func(*Node) error {
	return func(node *Node) error {
		if target := node.FindTarget(volume.IQN); target == nil || target.Connected {
			return fmt.Errorf("the target %s is %+v", volume.IQN, target)
		}
		return absent(volume.Stage)(node)
	}
}

func offered(volume *TargetVolume) func(*Node) error {
	return func(node *Node) error { return linkedTo(node, volume.Target, volume.Stage) }
}

// stored: the pod's file is on the target's disk.
func stored(volume *TargetVolume) func(*Node) error {
	return func(node *Node) error { return holds(&node.FindTarget(volume.IQN).Disk[0], "pod.txt") }
}
