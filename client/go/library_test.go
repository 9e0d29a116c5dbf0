package csiproxy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// systemLibrary is some library that exists on every system.
func systemLibrary(t *testing.T) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(os.Getenv("SystemRoot"), "System32", "kernel32.dll")
	}
	for _, pattern := range []string{"/lib/*/libm.so.6", "/lib64/libm.so.6", "/usr/lib/libm.so.6"} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return found[0]
		}
	}
	t.Fatal("this system has no C library")
	return ""
}

func TestErrorNamesTheLibraryThatCannotBeLoaded(t *testing.T) {
	missing := filepath.Join(tempDir(t), libraryName)
	broken := filepath.Join(tempDir(t), libraryName)
	if err := os.WriteFile(broken, []byte("no library"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, option, variable string
		want                   []string
	}{
		{"not there", missing, "", []string{"embedded", missing, "cannot be loaded"}},
		{"not there by the variable", "", missing, []string{missing, "cannot be loaded"}},
		{"the option before the variable", missing, broken, []string{missing}},
		{"no library", broken, "", []string{broken, "cannot be loaded"}},
		{"another library", systemLibrary(t), "", []string{"not a library of CSI Proxy", "csi_proxy_abi_version"}},
		{"in the current directory", libraryName, "", []string{libraryName, "full path"}},
		{"in a relative directory", "", filepath.Join("lib", libraryName), []string{libraryName, "full path"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("CSI_PROXY_LIBRARY", test.variable)
			conn, err := Connect(Embedded, WithLibrary(test.option))
			if err == nil {
				conn.Close()
				t.Fatal("it was loaded")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want %q in it", err, want)
				}
			}
		})
	}
}

func TestLibraryOfAnotherABIIsRefused(t *testing.T) {
	if err := checkABI(1); err != nil {
		t.Error(err)
	}
	for _, has := range []uint32{0, 2} {
		err := fmt.Errorf("library: %w", checkABI(has))
		if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), fmt.Sprintf("ABI version %d", has)) {
			t.Errorf("got %v", err)
		}
	}
}

// Other users may have put a library into the current directory.
func TestLibraryIsNotSearchedInTheCurrentDirectory(t *testing.T) {
	path := environment(t, "CSI_PROXY_LIBRARY")
	if os.Getenv("CSI_PROXY_TEST_CHILD") != "" {
		t.Setenv("CSI_PROXY_LIBRARY", "")
		if conn, err := Connect(Embedded); err == nil {
			conn.Close()
			t.Error("it was loaded from the current directory")
		} else if !strings.Contains(err.Error(), libraryName+" cannot be loaded") {
			t.Errorf("got %v", err)
		}
		return
	}
	code, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	directory := tempDir(t)
	if err := os.WriteFile(filepath.Join(directory, libraryName), code, 0o755); err != nil {
		t.Fatal(err)
	}
	// Runs in a new process, because a process finds a loaded library again by its name.
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(program, "-test.run=^"+t.Name()+"$", "-test.v")
	child.Dir = directory
	child.Env = append(os.Environ(), "CSI_PROXY_TEST_CHILD=1")
	if said, err := child.CombinedOutput(); err != nil || !strings.Contains(string(said), "--- PASS: "+t.Name()) {
		t.Errorf("%v: %s", err, said)
	}
}
