module csi-proxy.example/peer/load

go 1.16

require (
	github.com/kubernetes-csi/csi-proxy/client v1.3.0
	google.golang.org/grpc v1.38.0
)
