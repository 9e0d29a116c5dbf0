package steps

// nodes are the simulated nodes (server/machine/simulated/scenarios/) of the clouds where a driver runs. On a
// driver's first one the service is killed within each rpc as well.
var nodes = []struct {
	driver, scenario string
	// The node shows nothing by which the driver could find a disk.
	findsNone bool
}{
	{driver: "ebs.csi.aws.com", scenario: "ec2-nitro-2022"},
	{driver: "ebs.csi.aws.com", scenario: "ec2-nitro-2019"},
	{driver: "disk.csi.azure.com", scenario: "azure-scsi"},
	// The location of an NVMe disk has no LUN there (github.com/kubernetes-sigs/azuredisk-csi-driver/pull/3632).
	{driver: "disk.csi.azure.com", scenario: "azure-nvme", findsNone: true},
	{driver: "pd.csi.storage.gke.io", scenario: "gce-pd-scsi"},
	{driver: "pd.csi.storage.gke.io", scenario: "gce-nvme"},
	{driver: "csi.vsphere.vmware.com", scenario: "vsphere-pvscsi"},
	{driver: "file.csi.azure.com", scenario: "azure-scsi"},
	{driver: "smb.csi.k8s.io", scenario: "ec2-nitro-2022"},
}

// onNodes takes a driver through a life on each of its nodes.
func (r *Run) onNodes(driver, version string, life func(first, findsNone bool)) {
	first := true
	for _, node := range nodes {
		if node.driver != driver {
			continue
		}
		r.Driver(driver, node.scenario)
		life(first, node.findsNone)
		r.Total(version)
		first = false
	}
	if first {
		panic(driver + " has no node")
	}
}
