package steps

import (
	"fmt"
	"time"
)

// At most so many operations of the service are expected of one rpc of CSI.
const mostOperations = 80

// killed has the service killed and started again in the midst of an action: before its first operation
// on the node, then, from `prepare` on, before its second, until the action ends undisturbed. To die before
// one operation is to die after the one before without having answered. Each time the kubelet's
// repetition, `again`, has to succeed, which `check` confirms.
func (r *Run) killed(name string, prepare, action, again, check func() error) {
	for operation := 0; operation < mostOperations && !r.scenarioFailed; operation++ {
		undisturbed := false
		r.Step(fmt.Sprintf("%s, the service restarting at operation %d", name, operation+1), func() error {
			if err := prepare(); err != nil {
				return fmt.Errorf("before: %w", err)
			}
			struck, err := r.killAt(operation, action)
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

// killAt runs an action and restarts the service when it is about to begin an operation, counted from 0;
// struck tells whether the action had so many.
func (r *Run) killAt(operation int, action func() error) (struck bool, err error) {
	if operation > 0 {
		if err := r.inject(operation, 1); err != nil {
			return false, err
		}
	}
	if err := r.inject(1, 10*60*1000); err != nil {
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
		// The last fault has struck: the operation waits.
		if err := r.Start(scenario); err != nil {
			return false, err
		}
		return true, <-ended
	}
}

// inject delays so many of the service's next operations.
func (r *Run) inject(times, milliseconds int) error {
	return r.Call("InjectFault", map[string]any{"fault": map[string]any{
		"operation": "*", "times": times, "latency_ms": milliseconds}})
}
