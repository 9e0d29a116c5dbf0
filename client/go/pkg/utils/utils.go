// Package utils has what is asked of paths in more than one place.
package utils

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

const (
	// MaxPathLengthWindows is how long the paths in calls may be.
	MaxPathLengthWindows = 260

	// LongPathPrefix has Windows take a path as it is, however long.
	LongPathPrefix = `\\?\`
)

// EnsureLongPath puts LongPathPrefix before a path that does not have it.
func EnsureLongPath(path string) string {
	if strings.HasPrefix(path, LongPathPrefix) {
		return path
	}
	return LongPathPrefix + path
}

// PathExists tells whether there is anything at a path, a link that leads nowhere included.
func PathExists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// IsPathSymlink tells whether a path is a link; mounted folders may be told to be links as well.
func IsPathSymlink(path string) (bool, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return false, err
	}
	return info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0, nil
}
