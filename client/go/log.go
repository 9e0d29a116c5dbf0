package csiproxy

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/ebitengine/purego"
)

// logs are the log functions of open nodes by number. C code is given the number: a callback, once
// made, is never freed, so the process has one.
var logs struct {
	last      atomic.Uint64
	functions sync.Map // of uintptr to func(Severity, string)

	once     sync.Once
	callback uintptr
}

// addLog returns the number by which C code may log; 0 when there is no function.
func addLog(log func(Severity, string)) uintptr {
	if log == nil {
		return 0
	}
	number := uintptr(logs.last.Add(1))
	logs.functions.Store(number, log)
	return number
}

func removeLog(number uintptr) { logs.functions.Delete(number) }

// logCallback is the process's csi_proxy_log.
func logCallback() uintptr {
	logs.once.Do(func() {
		// Windows wants a result of a callback; C does not look at it.
		logs.callback = purego.NewCallback(func(user, severity uintptr, line *byte, size uintptr) uintptr {
			if log, ok := logs.functions.Load(user); ok {
				log.(func(Severity, string))(Severity(int32(severity)), string(unsafe.Slice(line, size)))
			}
			return 0
		})
	})
	return logs.callback
}
