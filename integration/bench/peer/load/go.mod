module csi-proxy.example/peer/load

go 1.16

require (
	github.com/golang/protobuf v1.4.3
	github.com/kubernetes-csi/csi-proxy/client v1.3.0
	google.golang.org/grpc v1.38.0
)
