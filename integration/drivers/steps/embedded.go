package steps

import (
	"fmt"
	"os"
)

// Embedded runs life for a driver that does the storage work itself, without a service. The node is this
// machine, and only the driver's own answers are checked.
func Embedded(driver, module string, life func(run *Run)) {
	run := &Run{}
	run.Driver(driver+"*", "this machine")
	life(run)
	run.Total(Version(module))
	if run.failed || run.steps == 0 {
		os.Exit(1)
	}
}

// Equal returns an error unless err is nil and got equals wanted.
func Equal[T comparable](got, wanted T, err error) error {
	if err == nil && got != wanted {
		err = fmt.Errorf("%v, not %v", got, wanted)
	}
	return err
}
