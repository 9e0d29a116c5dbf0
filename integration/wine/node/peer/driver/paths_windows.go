package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	diskapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/utils"
)

// lookAtPaths asks what the library exports besides: of a mounted folder, a link to it, and a directory.
func (r *run) lookAtPaths(mounted, link, directory string) {
	absent := directory + `\absent`
	for _, c := range []struct {
		name string
		ask  func(string) (bool, error)
		of   string
		want bool
	}{
		{"IsMountedFolder", utils.IsMountedFolder, mounted, true},
		{"IsMountedFolder", utils.IsMountedFolder, link, true},
		{"IsMountedFolder", utils.IsMountedFolder, directory, false},
		{"IsPathSymlink", utils.IsPathSymlink, link, true},
		{"IsPathSymlink", utils.IsPathSymlink, directory, false},
		{"PathExists", utils.PathExists, link, true},
		{"PathExists", utils.PathExists, absent, false},
		{"IsPathValid", utils.IsPathValid, directory, true},
		{"IsPathValid", utils.IsPathValid, `c:`, true},
		{"IsPathValid", utils.IsPathValid, absent, false},
	} {
		is, err := c.ask(c.of)
		r.step(c.name+" of "+c.of, want(is, c.want, err))
	}
	_, err := utils.IsMountedFolder(absent)
	r.step("IsMountedFolder of nothing", want(errors.Is(err, os.ErrNotExist), true, nil))
	_, err = utils.IsPathSymlink(absent)
	r.step("IsPathSymlink of nothing", want(errors.Is(err, os.ErrNotExist), true, nil))
	_, err = utils.IsPathValid("with\x00NUL")
	r.step("IsPathValid of no text", want(fmt.Sprint(err), "invalid path: invalid argument", nil))
	_, err = utils.PathExists("with\x00NUL")
	r.step("PathExists of no text", want(err != nil && strings.Contains(err.Error(), "invalid argument"), true, nil))
	r.step("EnsureLongPath", want(utils.EnsureLongPath(utils.EnsureLongPath(directory)), `\\?\`+directory, nil))

	other := directory + `\other`
	r.step("CreateSymlink", utils.CreateSymlink(other, mounted, true))
	is, err := utils.IsPathSymlink(other)
	r.step("IsPathSymlink of that", want(is, true, err))
	r.step("Rmdir of that", r.Rmdir(other))
}

// lookAtDevices asks for a disk by its device.
func (r *run) lookAtDevices(number uint32, page83 string) {
	is, id, err := diskapi.New().GetDiskNumberAndPage83ID(fmt.Sprintf(`\\.\PhysicalDrive%d`, number))
	r.step("GetDiskNumberAndPage83ID", want(fmt.Sprint(is, id), fmt.Sprint(number, page83), err))
	is, err = diskapi.New().GetDiskNumberWithID(page83)
	r.step("GetDiskNumberWithID", want(is, number, err))
	_, _, err = diskapi.New().GetDiskNumberAndPage83ID(`\\.\PhysicalDrive77`)
	r.step("GetDiskNumberAndPage83ID of no disk", want(err != nil, true, nil))
	_, err = diskapi.New().GetDiskNumberWithID("nobody")
	r.step("GetDiskNumberWithID of no disk", want(err != nil, true, nil))
}
