package api

import (
	"syscall"
	"unsafe"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/host"
)

// GetDiskNumber returns the number of the disk behind an open device.
func (imp DiskAPI) GetDiskNumber(disk syscall.Handle) (uint32, error) {
	var number StorageDeviceNumber
	var size uint32
	err := syscall.DeviceIoControl(disk, IOCTL_STORAGE_GET_DEVICE_NUMBER, nil, 0,
		(*byte)(unsafe.Pointer(&number)), uint32(unsafe.Sizeof(number)), &size, nil)
	return number.DeviceNumber, err
}

// GetDiskPage83ID returns the page 83 identifier of the disk behind an open device.
func (imp DiskAPI) GetDiskPage83ID(disk syscall.Handle) (string, error) {
	number, err := imp.GetDiskNumber(disk)
	if err != nil {
		return "", err
	}
	return imp.page83(number)
}

// GetDiskNumberAndPage83ID returns the number and the page 83 identifier of the disk whose device
// has that path, for example \\.\PhysicalDrive1.
func (imp DiskAPI) GetDiskNumberAndPage83ID(path string) (uint32, string, error) {
	if path == "" {
		return 0, "", host.Invalid("the device's path is empty")
	}
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return 0, "", err
	}
	// Windows reports the number without any access right.
	device, err := syscall.CreateFile(name, 0, syscall.FILE_SHARE_READ|syscall.FILE_SHARE_WRITE, nil, syscall.OPEN_EXISTING, 0, 0)
	if err != nil {
		return 0, "", err
	}
	defer syscall.CloseHandle(device)
	number, err := imp.GetDiskNumber(device)
	if err != nil {
		return 0, "", err
	}
	id, err := imp.page83(number)
	if err != nil {
		return 0, "", err
	}
	return number, id, nil
}
