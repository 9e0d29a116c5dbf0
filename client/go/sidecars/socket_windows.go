package sidecars

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// fileID is what a file is known by as long as it is there or open.
type fileID struct {
	volume uint32
	index  uint64
}

// attributeTag is FILE_ATTRIBUTE_TAG_INFO.
type attributeTag struct{ attributes, reparseTag uint32 }

// https://learn.microsoft.com/openspecs/windows_protocols/ms-fscc/c8e77b37-3909-4fe6-a4ea-2b9d423b1ee4
const reparseTagUnixSocket = 0x80000023

// identify tells what stands at a path; a link is not followed. A Unix socket is a reparse point,
// which can only be opened as such. os.Lstat does not know it for a socket before Go 1.21.
func identify(path string) (id fileID, isSocket bool, err error) {
	fail := func(err error) (fileID, bool, error) {
		return fileID{}, false, &os.PathError{Op: "open", Path: path, Err: err}
	}
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return fail(err)
	}
	file, err := windows.CreateFile(name, windows.FILE_READ_ATTRIBUTES,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE, nil, windows.OPEN_EXISTING,
		windows.FILE_FLAG_OPEN_REPARSE_POINT|windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return fail(err)
	}
	defer windows.CloseHandle(file)
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(file, &info); err != nil {
		return fail(err)
	}
	var tag attributeTag
	if err := windows.GetFileInformationByHandleEx(file, windows.FileAttributeTagInfo, (*byte)(unsafe.Pointer(&tag)), uint32(unsafe.Sizeof(tag))); err != nil {
		return fail(err)
	}
	id = fileID{info.VolumeSerialNumber, uint64(info.FileIndexHigh)<<32 | uint64(info.FileIndexLow)}
	return id, tag.attributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0 && tag.reparseTag == reparseTagUnixSocket, nil
}

// A socket has no access list before it has a file.
func restrictSocket(_, _ string, _ syscall.RawConn) error { return nil }

// restrictFile leaves the file to the process's user, SYSTEM and the administrators. By a handle: it
// is the file itself, and not what a link in its place leads to.
func restrictFile(path string) error {
	fail := func(err error) error { return &os.PathError{Op: "changing the access list of", Path: path, Err: err} }
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return fail(err)
	}
	descriptor, err := windows.SecurityDescriptorFromString("D:P(A;;FA;;;SY)(A;;FA;;;BA)(A;;FA;;;" + user.User.Sid.String() + ")")
	if err != nil {
		return fail(err)
	}
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return fail(err)
	}
	file, err := windows.CreateFile(name, windows.READ_CONTROL|windows.WRITE_DAC,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE, nil, windows.OPEN_EXISTING,
		windows.FILE_FLAG_OPEN_REPARSE_POINT|windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return fail(err)
	}
	defer windows.CloseHandle(file)
	// SetSecurityInfo may add what the directory would let in: Wine's does.
	if err := windows.SetKernelObjectSecurity(file,
		windows.DACL_SECURITY_INFORMATION|windows.PROTECTED_DACL_SECURITY_INFORMATION, descriptor); err != nil {
		return fail(err)
	}
	return nil
}
