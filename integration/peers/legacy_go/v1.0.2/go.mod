module csi-proxy.example/legacy/v1-0-2

go 1.16

require (
	csi-proxy.example/legacy/suite v0.0.0
	github.com/kubernetes-csi/csi-proxy/client v1.0.2
)

replace csi-proxy.example/legacy/suite => ../suite
