package csiproxy

import "golang.org/x/sys/windows"

const libraryName = "csi_proxy.dll"

// loadCode loads the DLL at a full path, or from the program's directory or System32. It never
// loads from the current directory or PATH, where other users may be able to write.
func loadCode(path string) (handle uintptr, name string, err error) {
	flags := uintptr(windows.LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | windows.LOAD_LIBRARY_SEARCH_SYSTEM32)
	if path == "" {
		path = libraryName
		flags = windows.LOAD_LIBRARY_SEARCH_APPLICATION_DIR | windows.LOAD_LIBRARY_SEARCH_SYSTEM32
	}
	module, err := windows.LoadLibraryEx(path, 0, flags)
	return uintptr(module), path, err
}

func findSymbol(handle uintptr, name string) (uintptr, error) {
	return windows.GetProcAddress(windows.Handle(handle), name)
}
