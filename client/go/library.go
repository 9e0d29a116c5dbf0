package csiproxy

import (
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// abiVersion is CSI_PROXY_ABI_VERSION of csi_proxy/csi_proxy.h, which this file binds.
const abiVersion = 1

// Must not compile on 32-bit platforms, because 64-bit values are passed to C as single words.
const _ = uintptr(1 << 63)

// library is a loaded library. It is never unloaded, because its threads may run at any time.
type library struct {
	open, begin, invoke, cancel, close, free uintptr
}

// cBytes is csi_proxy_bytes.
type cBytes struct {
	data *byte
	size uintptr
}

var loaded struct {
	sync.Mutex
	libraries map[string]*library
}

// loadLibrary loads the library at a full path, or the installed one if path is "".
func loadLibrary(path string) (*library, error) {
	if path != "" && !filepath.IsAbs(path) {
		return nil, fmt.Errorf("library %q: give its full path", path)
	}
	loaded.Lock()
	defer loaded.Unlock()
	if known := loaded.libraries[path]; known != nil {
		return known, nil
	}
	handle, name, err := loadCode(path)
	if err != nil {
		return nil, fmt.Errorf("library %s cannot be loaded: put it beside the program, or set CSI_PROXY_LIBRARY to its full path: %w", name, err)
	}
	l, err := bind(handle)
	if err != nil {
		return nil, fmt.Errorf("library %s: %w", name, err)
	}
	if loaded.libraries == nil {
		loaded.libraries = make(map[string]*library)
	}
	loaded.libraries[path] = l
	return l, nil
}

func bind(handle uintptr) (*library, error) {
	l := &library{}
	var version uintptr
	for _, symbol := range []struct {
		name    string
		address *uintptr
	}{
		{"csi_proxy_abi_version", &version},
		{"csi_proxy_open", &l.open},
		{"csi_proxy_begin", &l.begin},
		{"csi_proxy_invoke", &l.invoke},
		{"csi_proxy_cancel", &l.cancel},
		{"csi_proxy_close", &l.close},
		{"csi_proxy_free", &l.free},
	} {
		address, err := findSymbol(handle, symbol.name)
		if err != nil {
			return nil, fmt.Errorf("it is not a library of CSI Proxy, because it lacks %s: %w", symbol.name, err)
		}
		*symbol.address = address
		if symbol.name != "csi_proxy_abi_version" {
			continue
		}
		has, _, _ := purego.SyscallN(version)
		if err := checkABI(uint32(has)); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// checkABI refuses a library with another ABI version, before anything else in it is used.
func checkABI(has uint32) error {
	if has == abiVersion {
		return nil
	}
	return status.Errorf(codes.FailedPrecondition, "it has ABI version %d, but this program needs %d", has, abiVersion)
}

// Memory that is passed to C is on the heap, where it does not move, and lives until C returns.
// SyscallN ensures both for pointers converted in its arguments (go:uintptrescapes).

// openNode opens a node. user is passed to the log callback; 0 means no callback.
func (l *library) openNode(options []byte, user uintptr) (node uint64, code codes.Code, message string) {
	var log uintptr
	if user != 0 {
		log = logCallback()
	}
	out := new(uint64)
	text := new(cBytes)
	r, _, _ := purego.SyscallN(l.open, abiVersion,
		uintptr(pointer(options)), uintptr(len(options)), log, user,
		uintptr(unsafe.Pointer(out)), uintptr(unsafe.Pointer(text)))
	runtime.KeepAlive(options)
	return *out, codes.Code(int32(r)), string(l.take(text))
}

// beginCall announces a call that cancelCall may end. The call must be passed to exactly one
// invokeMethod.
func (l *library) beginCall(node uint64) (call uint64, code codes.Code) {
	out := new(uint64)
	r, _, _ := purego.SyscallN(l.begin, uintptr(node), uintptr(unsafe.Pointer(out)))
	return *out, codes.Code(int32(r))
}

// invokeMethod calls a method and waits for it to end.
func (l *library) invokeMethod(node, call uint64, method string, request []byte, timeout int64) ([]byte, codes.Code, string) {
	name := append([]byte(method), 0)
	response, message := new(cBytes), new(cBytes)
	r, _, _ := purego.SyscallN(l.invoke, uintptr(node), uintptr(call),
		uintptr(pointer(name)), uintptr(pointer(request)), uintptr(len(request)),
		uintptr(timeout), uintptr(unsafe.Pointer(response)), uintptr(unsafe.Pointer(message)))
	runtime.KeepAlive(name)
	runtime.KeepAlive(request)
	return l.take(response), codes.Code(int32(r)), string(l.take(message))
}

func (l *library) cancelCall(call uint64) { purego.SyscallN(l.cancel, uintptr(call)) }

func (l *library) closeNode(node uint64) { purego.SyscallN(l.close, uintptr(node)) }

// take copies bytes that the library returned, and frees the original.
func (l *library) take(bytes *cBytes) []byte {
	if bytes.data == nil {
		return nil
	}
	taken := append([]byte(nil), unsafe.Slice(bytes.data, bytes.size)...)
	purego.SyscallN(l.free, uintptr(unsafe.Pointer(bytes)))
	return taken
}

func pointer(bytes []byte) unsafe.Pointer {
	if len(bytes) == 0 {
		return nil
	}
	return unsafe.Pointer(&bytes[0])
}
