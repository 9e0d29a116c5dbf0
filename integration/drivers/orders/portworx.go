package orders

// Portworx ends each path of csi-driver-smb's calls in a backslash, as pkg/mounter/safe_mounter_windows.go of the
// Windows driver of Portworx does.
type Portworx struct{ ShareNode }

func (n Portworx) PathExists(path string) (bool, error) { return n.ShareNode.PathExists(path + `\`) }

func (n Portworx) IsSymlink(path string) (bool, error) { return n.ShareNode.IsSymlink(path + `\`) }

func (n Portworx) Mkdir(path string) error { return n.ShareNode.Mkdir(path + `\`) }

func (n Portworx) Rmdir(path string) error { return n.ShareNode.Rmdir(path + `\`) }

func (n Portworx) CreateSymlink(source, target string) error {
	return n.ShareNode.CreateSymlink(source+`\`, target+`\`)
}

func (n Portworx) NewSmbGlobalMapping(remote, local, user, password string) error {
	return n.ShareNode.NewSmbGlobalMapping(remote, local+`\`, user, password)
}
