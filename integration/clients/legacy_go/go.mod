// The released Go clients, with the versions that they ask for. run.sh puts the other releases in place
// of this one; go.sum knows them too.
module csi-proxy.example/legacy_go

go 1.16

require (
	github.com/Microsoft/go-winio v0.4.16
	github.com/golang/protobuf v1.4.3
	github.com/kubernetes-csi/csi-proxy/client v1.3.0
	google.golang.org/grpc v1.38.0
	google.golang.org/protobuf v1.25.0
)
