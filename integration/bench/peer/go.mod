module csi-proxy.example/peer

go 1.24.3

require (
	csi-proxy.example/peer/figures v0.0.0
	github.com/kubernetes-csi/csi-proxy v1.3.0
)

// The release's module names no version of its client, which lies beside it.
replace github.com/kubernetes-csi/csi-proxy/client => github.com/kubernetes-csi/csi-proxy/client v1.3.0

replace google.golang.org/genproto => google.golang.org/genproto v0.0.0-20241118233622-e639e219e697

replace csi-proxy.example/peer/figures => ./figures
