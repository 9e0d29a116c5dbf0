module csi-proxy.example/go-embedded

go 1.19

require (
	csi-proxy.example/legacy/suite v0.0.0
	github.com/csi-proxy/csi-proxy/client/go v0.0.0
	github.com/kubernetes-csi/csi-proxy/client v1.3.0
	google.golang.org/grpc v1.64.1
	google.golang.org/protobuf v1.33.0
)

require (
	github.com/Microsoft/go-winio v0.6.1 // indirect
	github.com/ebitengine/purego v0.10.2 // indirect
	github.com/golang/protobuf v1.5.4 // indirect
	golang.org/x/mod v0.17.0 // indirect
	golang.org/x/net v0.26.0 // indirect
	golang.org/x/sync v0.7.0 // indirect
	golang.org/x/sys v0.21.0 // indirect
	golang.org/x/text v0.16.0 // indirect
	golang.org/x/tools v0.21.1-0.20240508182429-e35e4ccd0d2d // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20240318140521-94a12d6c2237 // indirect
)

replace (
	csi-proxy.example/legacy/suite => ../legacy_go/suite
	github.com/csi-proxy/csi-proxy/client/go => ../../../client/go
)
