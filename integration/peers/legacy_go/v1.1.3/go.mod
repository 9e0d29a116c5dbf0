module csi-proxy.example/legacy/v1-1-3

go 1.16

require (
	csi-proxy.example/legacy/suite v0.0.0
	github.com/kubernetes-csi/csi-proxy/client v1.1.3
)

replace csi-proxy.example/legacy/suite => ../suite
