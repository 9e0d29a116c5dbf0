// The module has the name of the Go library that it replaces, so that a driver needs only one
// replace line.
module github.com/kubernetes-csi/csi-proxy/v2

go 1.19

require (
	github.com/Microsoft/go-winio v0.6.1
	github.com/ebitengine/purego v0.10.2
	github.com/kubernetes-csi/csi-proxy/client v1.3.0
	golang.org/x/sys v0.21.0
	google.golang.org/genproto v0.0.0-20240318140521-94a12d6c2237
	google.golang.org/grpc v1.64.1
	google.golang.org/protobuf v1.33.0
)

require (
	github.com/golang/protobuf v1.5.4 // indirect
	golang.org/x/mod v0.17.0 // indirect
	golang.org/x/net v0.26.0 // indirect
	golang.org/x/sync v0.7.0 // indirect
	golang.org/x/text v0.16.0 // indirect
	golang.org/x/tools v0.21.1-0.20240508182429-e35e4ccd0d2d // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20240318140521-94a12d6c2237 // indirect
)
