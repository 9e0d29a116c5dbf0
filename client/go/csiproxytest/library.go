package csiproxytest

import (
	"os"
	"path/filepath"
	"runtime"
)

// InstallCommand builds the library of simulated nodes and places it where NewNode finds it.
const InstallCommand = "go run github.com/kubernetes-csi/csi-proxy/v2/csiproxytest/install"

// LibraryPath returns where InstallCommand places the library, below the user's cache directory.
func LibraryPath() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	name := "libcsi_proxy.so.1"
	if runtime.GOOS == "windows" {
		name = "csi_proxy_simulated.dll"
	}
	return filepath.Join(cache, "csi-proxy", "test-library", name), nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
