package steps

// nodes are the simulated nodes (server/simulator/scenarios/) of the clouds where a driver runs. Only on a
// driver's first node is the service killed within each rpc.
var nodes = []struct{ driver, scenario string }{
	{"ebs.csi.aws.com", "ec2-nitro-2022"},
	{"ebs.csi.aws.com", "ec2-nitro-2019"},
	{"disk.csi.azure.com", "azure-scsi"},
	{"disk.csi.azure.com", "azure-nvme"},
	{"pd.csi.storage.gke.io", "gce-pd-scsi"},
	{"pd.csi.storage.gke.io", "gce-nvme"},
	{"csi.vsphere.vmware.com", "vsphere-pvscsi"},
	{"file.csi.azure.com", "azure-scsi"},
	{"smb.csi.k8s.io", "ec2-nitro-2022"},
}

// onNodes takes a driver through a life on each of its nodes.
func (r *Run) onNodes(driver, version string, life func(first bool)) {
	first := true
	for _, node := range nodes {
		if node.driver != driver {
			continue
		}
		r.Driver(driver, node.scenario)
		life(first)
		r.Total(version)
		first = false
	}
	if first {
		panic(driver + " has no node")
	}
}
