package steps

import (
	"fmt"
	"os"
)

// Embedded has `life` take a driver that does the storage work itself, without a service: this machine is the
// node, and no more can be confirmed of it than its own answers.
func Embedded(driver, module string, life func(run *Run)) {
	run := &Run{}
	run.Driver(driver+"*", "this machine")
	life(run)
	run.Total(Version(module))
	if run.failed || run.steps == 0 {
		os.Exit(1)
	}
}

// Equal is an error when the driver says something else than it should.
func Equal[T comparable](got, wanted T, err error) error {
	if err == nil && got != wanted {
		err = fmt.Errorf("%v, not %v", got, wanted)
	}
	return err
}
