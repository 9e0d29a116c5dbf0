//go:build !windows

package sidecars

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// fileID is what a file is known by as long as it is there or open.
type fileID struct{ device, inode uint64 }

// identify tells what stands at a path; a link is not followed.
func identify(path string) (id fileID, isSocket bool, err error) {
	info, err := os.Lstat(path)
	if err != nil {
		return fileID{}, false, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}, false, fmt.Errorf("%s: has no inode", path)
	}
	return fileID{uint64(stat.Dev), uint64(stat.Ino)}, info.Mode()&fs.ModeSocket != 0, nil
}

// restrictSocket gives a socket, before it has a file, the mode that Linux makes the file with. The
// umask, with which upstream's registrar does it, would be that of the driver's other files too.
func restrictSocket(_, _ string, connection syscall.RawConn) error {
	return connection.Control(func(descriptor uintptr) {
		// Other systems refuse it, which is why restrictFile does the same.
		_ = syscall.Fchmod(int(descriptor), 0o600)
	})
}

func restrictFile(path string) error {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	return os.Chmod(path, 0o600)
}
