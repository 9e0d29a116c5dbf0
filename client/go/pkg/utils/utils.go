// Package utils contains path helpers shared by several packages.
package utils

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

const (
	// MaxPathLengthWindows is the longest path, in bytes, that calls accept.
	MaxPathLengthWindows = 260

	// LongPathPrefix makes Windows accept a path of any length, without normalizing it.
	LongPathPrefix = `\\?\`
)

// EnsureLongPath adds LongPathPrefix to a path that does not have it.
func EnsureLongPath(path string) string {
	if strings.HasPrefix(path, LongPathPrefix) {
		return path
	}
	return LongPathPrefix + path
}

// PathExists reports whether a path exists. A dangling link exists.
func PathExists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// IsPathSymlink reports whether a path is a link. It may be true of mounted folders, too.
func IsPathSymlink(path string) (bool, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return false, err
	}
	return info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0, nil
}
