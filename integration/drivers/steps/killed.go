package steps

import (
	"fmt"
	"time"
)

// mostCalls is the most calls of one kind that one rpc of CSI should need.
const mostCalls = 80

// The service is killed before each of its rpcs, and before each call of these kinds, by which it changes
// the node. Control codes are left out: nearly all of them only ask.
var killedBefore = []string{
	"*", "wmi.Invoke/*", "win32.SetMountPoint", "win32.DeleteMountPoint",
	"win32.CreateDirectory", "win32.Delete", "win32.WriteReparsePoint",
}

// killed has the service killed and started again in the midst of an action: before its first call of a
// kind, then, from `prepare` on, before its second, until the action ends undisturbed. To die before one
// call is to die after the one before without having answered. Each time the kubelet's repetition, `again`,
// has to succeed, which `check` confirms.
func (r *Run) killed(name string, prepare, action, again, check func() error) {
	for _, kind := range killedBefore {
		r.killedBefore(kind, name, prepare, action, again, check)
	}
}

func (r *Run) killedBefore(kind, name string, prepare, action, again, check func() error) {
	for call := 0; call < mostCalls && !r.scenarioFailed; call++ {
		undisturbed := false
		r.Step(fmt.Sprintf("%s, the service restarting at call %d of %s", name, call+1, kind), func() error {
			if err := prepare(); err != nil {
				return fmt.Errorf("before: %w", err)
			}
			struck, err := r.killAt(kind, call, action)
			if err != nil && struck {
				err = repeat(3, again)
			}
			if err != nil {
				return err
			}
			undisturbed = !struck
			return inTurn(r.reachable, check)
		})
		if undisturbed {
			return
		}
	}
}

// killAt runs an action and restarts the service when it is about to begin a call of a kind, counted from 0;
// struck tells whether the action had so many.
func (r *Run) killAt(kind string, call int, action func() error) (struck bool, err error) {
	if call > 0 {
		if err := r.inject(kind, call, 1); err != nil {
			return false, err
		}
	}
	if err := r.inject(kind, 1, 10*60*1000); err != nil {
		return false, err
	}
	ended := make(chan error, 1)
	go func() { ended <- limited(action) }()
	for {
		select {
		case err := <-ended:
			if cleared := r.Call("ClearFaults", struct{}{}); err == nil {
				err = cleared
			}
			return false, err
		case <-time.After(5 * time.Millisecond):
		}
		node, scenario, err := r.Dump()
		if err != nil {
			return false, err
		}
		if len(node.Fault) > 0 {
			continue
		}
		// The last fault has struck: the call waits.
		if err := r.Start(scenario); err != nil {
			return false, err
		}
		return true, <-ended
	}
}

// inject delays so many of the service's next calls of a kind.
func (r *Run) inject(kind string, times, milliseconds int) error {
	return r.Call("InjectFault", map[string]any{"fault": map[string]any{
		"operation": kind, "times": times, "latency_ms": milliseconds}})
}
