module csi-proxy.example/legacy/suite

go 1.16

require (
	github.com/Microsoft/go-winio v0.4.16
	google.golang.org/grpc v1.38.0
	google.golang.org/protobuf v1.25.0
)
