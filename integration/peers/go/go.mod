module csi-proxy.example/calls

go 1.25.0

require (
	csi-proxy.example/legacy_go v0.0.0
	github.com/kubernetes-csi/csi-proxy/client v1.3.0
	github.com/kubernetes-csi/csi-proxy/v2 v2.0.0
	golang.org/x/tools v0.45.0
	google.golang.org/protobuf v1.33.0
)

require (
	csi-proxy.example/drivers/clients v0.0.0
	csi-proxy.example/drivers/orders v0.0.0
	github.com/Microsoft/go-winio v0.6.1 // indirect
	github.com/csi-proxy/csi-proxy/client/go/csiproxytest/v2 v2.0.0
	github.com/ebitengine/purego v0.10.2 // indirect
	github.com/golang/protobuf v1.5.4 // indirect
	golang.org/x/mod v0.36.0 // indirect
	golang.org/x/net v0.54.0 // indirect
	golang.org/x/sync v0.20.0 // indirect
	golang.org/x/sys v0.44.0 // indirect
	golang.org/x/text v0.37.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20240318140521-94a12d6c2237 // indirect
	google.golang.org/grpc v1.64.1
)

replace (
	csi-proxy.example/drivers/clients => ../../drivers/clients
	csi-proxy.example/drivers/orders => ../../drivers/orders
	csi-proxy.example/legacy_go => ../legacy_go
	github.com/csi-proxy/csi-proxy/client/go/csiproxytest/v2 => ../../../client/go/csiproxytest
	github.com/kubernetes-csi/csi-proxy/v2 => ../../../client/go
)
