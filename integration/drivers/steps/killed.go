package steps

import (
	"fmt"
	"time"
)

// mostCalls is the maximum number of calls of one kind that one rpc of CSI should need.
const mostCalls = 80

// The service is killed before each of its rpcs ("*") and before each call of the kinds that change the node.
// Control codes are left out: nearly all of them only read.
var killedBefore = []string{
	"*", "wmi.Invoke/*", "win32.SetMountPoint", "win32.DeleteMountPoint",
	"win32.CreateDirectory", "win32.Delete", "win32.WriteReparsePoint",
}

// killed runs an action repeatedly and kills the service before the action's first call of a kind, then, after
// prepare, before its second, and so on until the action ends undisturbed. Killing the service before call N
// also covers a crash after call N-1 whose answer was lost. After each kill, again (the kubelet's next attempt)
// must succeed, and check must confirm its result.
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

// killAt runs an action and restarts the service when it is about to begin its nth call of a kind, counted from
// 0. struck is false if the action makes fewer calls.
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
		// The last fault has struck, i.e. the call waits.
		if err := r.Start(scenario); err != nil {
			return false, err
		}
		return true, <-ended
	}
}

// inject delays the service's next calls of a kind.
func (r *Run) inject(kind string, times, milliseconds int) error {
	return r.Call("InjectFault", map[string]any{"fault": map[string]any{
		"operation": kind, "times": times, "latency_ms": milliseconds}})
}
