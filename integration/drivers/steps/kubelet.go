package steps

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"google.golang.org/protobuf/types/dynamicpb"
)

// The kubelet repeats a failed call after half a second, and doubles the delay each time.
const firstBackoff = 500 * time.Millisecond

// repeat calls action until it succeeds, at most attempts times.
func repeat(attempts int, action func() error) error {
	var failures []error
	for backoff := firstBackoff; ; backoff *= 2 {
		err := limited(action)
		if err == nil {
			return nil
		}
		failures = append(failures, err)
		if len(failures) == attempts {
			return errors.Join(failures...)
		}
		time.Sleep(backoff)
	}
}

// until repeats check until it succeeds, for up to a minute, so that a busy machine is not taken for a broken
// one.
func until(check func() error) error {
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		err := check()
		if err == nil || time.Since(began) > time.Minute {
			return err
		}
	}
}

// MakeDirectory is os.MkdirAll on the node, as the kubelet or a driver calls it without csi-proxy.
func (r *Run) MakeDirectory(path string) error {
	return r.Then(func(node *Node) error {
		if node.At(path) != nil {
			return nil
		}
		return r.Call("MakeDirectory", map[string]any{"path": Normalize(path)})
	})
}

// ReadDir is a driver's own os.ReadDir, on the node instead of Wine's drive.
func (r *Run) ReadDir(path string) error {
	return r.Then(func(node *Node) error { return node.ReadDir(path) })
}

// write writes a file below a directory of the node, as a pod does, into the volume mounted there.
func (r *Run) write(directory, name string) error {
	return r.Call("WriteFile", map[string]any{"path": strings.TrimRight(Normalize(directory), `\`) + `\` + name,
		"size_bytes": "4096"})
}

func (r *Run) invokeJSON(method string, request any) (*dynamicpb.Message, error) {
	text, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	return r.invoke(method, string(text))
}

// inTurn runs actions in order until one fails.
func inTurn(actions ...func() error) error {
	for _, action := range actions {
		if err := action(); err != nil {
			return err
		}
	}
	return nil
}

// Background is what drivers pass: no deadline.
var Background = context.Background()

// Unreachable returns err if no service answered the call, otherwise nil.
func Unreachable(err error) error {
	if err != nil && strings.Contains(err.Error(), "code = Unavailable") {
		return err
	}
	return nil
}
