module csi-proxy.example/node-peer

go 1.24.3

// The setting of the release's own module. The type that os.Lstat gives mount points depends on the setting.
godebug winsymlink=0

require (
	csi-proxy.example/drivers/clients v0.0.0
	csi-proxy.example/drivers/orders v0.0.0
	github.com/kubernetes-csi/csi-proxy/client v1.3.0
	github.com/kubernetes-csi/csi-proxy/v2 v2.0.0-alpha.2
)

require (
	github.com/Microsoft/go-winio v0.6.2 // indirect
	github.com/go-logr/logr v1.4.2 // indirect
	github.com/go-ole/go-ole v1.3.0 // indirect
	github.com/golang/protobuf v1.5.4 // indirect
	github.com/microsoft/wmi v0.34.0 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	golang.org/x/net v0.33.0 // indirect
	golang.org/x/sys v0.32.0 // indirect
	golang.org/x/text v0.21.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20241216192217-9240e9c98484 // indirect
	google.golang.org/grpc v1.69.2 // indirect
	google.golang.org/protobuf v1.36.0 // indirect
	k8s.io/klog/v2 v2.130.1 // indirect
)

replace (
	csi-proxy.example/drivers/clients => ../../../drivers/clients
	csi-proxy.example/drivers/orders => ../../../drivers/orders
)
