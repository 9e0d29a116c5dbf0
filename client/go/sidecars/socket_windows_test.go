package sidecars

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/windows"
)

// Wine cannot make Unix sockets; what is not one it can tell.
func TestWhatIsNotASocket(t *testing.T) {
	directory, err := os.MkdirTemp("", "sidecars")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(directory)
	file := filepath.Join(directory, "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{directory, file} {
		_, err := socketExists(path)
		checkError(t, err, "is not a socket")
		_, err = listen(path)
		checkError(t, err, "is not a socket")
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "precious" {
		t.Errorf("%q, %v", text, err)
	}
	if exists, err := socketExists(filepath.Join(directory, "none")); exists || err != nil {
		t.Errorf("%v, %v", exists, err)
	}
	if _, _, err := identify(filepath.Join(directory, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	// One file is itself, and two are two.
	first, _, err := identify(file)
	again, _, _ := identify(file)
	other, _, _ := identify(directory)
	if err != nil || first != again || first == other {
		t.Errorf("%v: %v, %v, %v", err, first, again, other)
	}
}

// A file takes an access list as a socket does.
func TestASocketIsForItsUserAlone(t *testing.T) {
	directory, err := os.MkdirTemp("", "sidecars")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(directory)
	file := filepath.Join(directory, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := restrictFile(file); err != nil {
		t.Fatal(err)
	}
	descriptor, err := windows.GetNamedSecurityInfo(file, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		t.Fatal(err)
	}
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		t.Fatal(err)
	}
	// Wine's file is its owner's by a mode, which it shows as an entry.
	allowed := []string{";;;SY)", ";;;BA)", ";;;" + user.User.Sid.String() + ")"}
	entries := strings.Split(descriptor.String(), "(")[1:]
	for _, entry := range entries {
		known := false
		for _, who := range allowed {
			known = known || strings.HasSuffix(entry, who)
		}
		if !known {
			t.Errorf("%s lets in another: (%s", descriptor, entry)
		}
	}
	if len(entries) == 0 || restrictFile(file+"none") == nil {
		t.Errorf("%s", descriptor)
	}
}
