package figures

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Process is a process id.
type Process int

func (p Process) open() windows.Handle {
	handle, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(p))
	Must(err)
	return handle
}

// PROCESS_MEMORY_COUNTERS (https://learn.microsoft.com/windows/win32/api/psapi/ns-psapi-process_memory_counters).
type memoryCounters struct {
	size, faults                                     uint32
	peakWorkingSet, workingSet                       uintptr
	peakPagedPool, pagedPool, peakNonPaged, nonPaged uintptr
	pagefile, peakPagefile                           uintptr
}

var getMemory = windows.NewLazySystemDLL("kernel32.dll").NewProc("K32GetProcessMemoryInfo")

// RSS returns the working set in MiB.
func (p Process) RSS() float64 {
	handle := p.open()
	defer windows.CloseHandle(handle)
	counters := memoryCounters{size: uint32(unsafe.Sizeof(memoryCounters{}))}
	if done, _, err := getMemory.Call(uintptr(handle), uintptr(unsafe.Pointer(&counters)), uintptr(counters.size)); done == 0 {
		Must(err)
	}
	return float64(counters.workingSet) / (1 << 20)
}

// Threads returns the number of threads
// (https://learn.microsoft.com/windows/win32/api/tlhelp32/ns-tlhelp32-processentry32w); 0 if the process has ended.
func (p Process) Threads() float64 {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	Must(err)
	defer windows.CloseHandle(snapshot)
	entry := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	for err = windows.Process32First(snapshot, &entry); err == nil; err = windows.Process32Next(snapshot, &entry) {
		if entry.ProcessID == uint32(p) {
			return float64(entry.Threads)
		}
	}
	return 0
}

// CPU returns the CPU time in microseconds.
func (p Process) CPU() float64 {
	handle := p.open()
	defer windows.CloseHandle(handle)
	var created, ended, kernel, user windows.Filetime
	Must(windows.GetProcessTimes(handle, &created, &ended, &kernel, &user))
	// These FILETIMEs are durations in units of 100 ns.
	in100ns := func(t windows.Filetime) float64 { return float64(uint64(t.HighDateTime)<<32 | uint64(t.LowDateTime)) }
	return (in100ns(kernel) + in100ns(user)) / 10
}

// countsSwitches is false, because Windows counts thread switches only in performance counters.
const countsSwitches = false

func (p Process) Switches() map[string]float64 { return nil }

func (p Process) SwitchesSince(map[string]float64) float64 { return 0 }

// loadAverage returns false, because Windows has no load average.
func loadAverage() (average float64, known bool) { return 0, false }

func processor() string { return os.Getenv("PROCESSOR_IDENTIFIER") }
