package csiproxy

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/ebitengine/purego"
)

// logs are the log functions of open nodes, by the number that C code is given. All nodes share one
// callback, because a callback is never freed.
var logs struct {
	last      atomic.Uint64
	functions sync.Map // of uintptr to func(Severity, string)

	once     sync.Once
	callback uintptr
}

// addLog returns the number by which C code calls log, or 0 if log is nil.
func addLog(log func(Severity, string)) uintptr {
	if log == nil {
		return 0
	}
	number := uintptr(logs.last.Add(1))
	logs.functions.Store(number, log)
	return number
}

func removeLog(number uintptr) { logs.functions.Delete(number) }

// logCallback returns the process's csi_proxy_log.
func logCallback() uintptr {
	logs.once.Do(func() {
		// Windows requires callbacks to return a value, which C ignores.
		logs.callback = purego.NewCallback(func(user, severity uintptr, line *byte, size uintptr) uintptr {
			if log, ok := logs.functions.Load(user); ok {
				log.(func(Severity, string))(Severity(int32(severity)), string(unsafe.Slice(line, size)))
			}
			return 0
		})
	})
	return logs.callback
}
