// Command install builds the library of simulated nodes from the checkout of CSI Proxy that this
// module is in, and places it where csiproxytest finds it: below the user's cache directory.
//
//	go run github.com/kubernetes-csi/csi-proxy/v2/csiproxytest/install
//	    [-source CHECKOUT | -library FILE]
//
// -source names another checkout. -library copies an existing library, for example
// csi_proxy_simulated.dll from a release, because building needs Debian. The checkout's
// scripts/install-packages.sh installs the packages for the build.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	csiproxy "github.com/kubernetes-csi/csi-proxy/v2"
	"github.com/kubernetes-csi/csi-proxy/v2/csiproxytest"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("install: ")
	source := flag.String("source", "", "a checkout of CSI Proxy, by default the one that this module is in")
	library := flag.String("library", "", "a library that is there, which is copied")
	flag.Parse()
	if os.Getenv(trying) != "" {
		conn, err := csiproxy.Connect(csiproxy.Embedded, csiproxy.WithSimulatedNode(""))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		conn.Close()
		return
	}
	if err := install(*source, *library); err != nil {
		log.Fatal(err)
	}
}

func install(source, library string) error {
	path, err := csiproxytest.LibraryPath()
	if err != nil {
		return err
	}
	// The new library gets a directory of its own, because tests under way keep using the old one.
	if err := os.MkdirAll(filepath.Dir(filepath.Dir(path)), 0o700); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(filepath.Dir(path)), "new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	if library != "" {
		err = copyFile(library, filepath.Join(fresh, filepath.Base(path)))
	} else {
		err = build(source, fresh)
	}
	if err != nil {
		return err
	}
	if err := try(filepath.Join(fresh, filepath.Base(path))); err != nil {
		return err
	}
	before := fresh + ".before"
	if err := os.Rename(filepath.Dir(path), before); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	defer os.RemoveAll(before)
	if err := os.Rename(fresh, filepath.Dir(path)); err != nil {
		return err
	}
	fmt.Println(path, "is placed, and opens simulated nodes")
	return nil
}

// try opens a node with the library at path. It does so in a process of its own, because Windows
// cannot move a library that is in use.
func try(path string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	command := exec.Command(program)
	command.Env = append(os.Environ(), "CSI_PROXY_LIBRARY="+path, trying+"=yes")
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("the library does not work: %s", bytes.TrimSpace(out))
	}
	return nil
}

// trying is the variable by which try makes this program open a node with CSI_PROXY_LIBRARY.
const trying = "CSI_PROXY_INSTALL_TRIES"

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o600)
}

// build builds the library in a checkout, and places it with the libraries that it loads.
func build(source, directory string) error {
	if runtime.GOOS == "windows" {
		return errors.New("the library is built on Debian: take csi_proxy_simulated.dll of a release, and name it by -library")
	}
	if source == "" {
		var err error
		if source, err = checkout(); err != nil {
			return err
		}
	}
	if _, err := exec.LookPath("cmake"); err != nil {
		return fmt.Errorf("%w: %s installs what the build needs", err, filepath.Join(source, "scripts", "install-packages.sh"))
	}
	for _, arguments := range [][]string{
		{"--preset", "release"},
		{"--build", "--preset", "release", "--target", "csi_proxy_c"},
		{"--install", "build/release", "--component", "test_library", "--prefix", directory},
	} {
		command := exec.Command("cmake", arguments...)
		command.Dir, command.Stdout, command.Stderr = source, os.Stderr, os.Stderr
		if err := command.Run(); err != nil {
			return fmt.Errorf("cmake %s, in %s: %w", strings.Join(arguments, " "), source, err)
		}
	}
	return nil
}

// checkout returns the checkout that the module is in, according to go.mod's replace line.
func checkout() (string, error) {
	const tested = "github.com/kubernetes-csi/csi-proxy/v2/csiproxytest"
	// -mod=readonly, because a vendor directory is no checkout.
	out, err := exec.Command("go", "list", "-mod=readonly", "-f", "{{.Dir}}", tested).Output()
	if err != nil {
		return "", fmt.Errorf("go list %s: %w", tested, err)
	}
	// CMake refuses a checkout whose path differs from the one that it was configured with.
	directory, err := filepath.EvalSymlinks(strings.TrimSpace(string(out)))
	if err != nil {
		return "", err
	}
	for at := directory; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "client", "c", "csi_proxy.cc")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s is not in a checkout of CSI Proxy: name one by -source, or a library by -library", directory)
		}
	}
}
