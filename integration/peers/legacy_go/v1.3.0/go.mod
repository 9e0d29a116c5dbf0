module csi-proxy.example/legacy/v1-3-0

go 1.16

require (
	csi-proxy.example/legacy/suite v0.0.0
	github.com/Microsoft/go-winio v0.4.16
	github.com/kubernetes-csi/csi-proxy/client v1.3.0
)

replace csi-proxy.example/legacy/suite => ../suite
