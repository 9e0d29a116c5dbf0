//go:build !windows

package csiproxy

import (
	"os"
	"path/filepath"

	"github.com/ebitengine/purego"
)

const libraryName = "libcsi_proxy.so.1"

// loadCode loads the library at a full path. If path is "", it loads the one beside the program, or
// else the one that the dynamic linker finds.
func loadCode(path string) (handle uintptr, name string, err error) {
	if path == "" {
		path = libraryName
		if program, err := os.Executable(); err == nil {
			beside := filepath.Join(filepath.Dir(program), libraryName)
			if _, err := os.Stat(beside); err == nil {
				path = beside
			}
		}
	}
	handle, err = purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	return handle, path, err
}

func findSymbol(handle uintptr, name string) (uintptr, error) {
	return purego.Dlsym(handle, name)
}
