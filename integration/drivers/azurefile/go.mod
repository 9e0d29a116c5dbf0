module csi-proxy.example/drivers/azurefile

go 1.24

require (
	csi-proxy.example/drivers/steps v0.0.0
	k8s.io/mount-utils v0.32.1
	sigs.k8s.io/azurefile-csi-driver v1.33.0
)

require (
	github.com/Microsoft/go-winio v0.6.2 // indirect
	github.com/go-logr/logr v1.4.2 // indirect
	github.com/golang/protobuf v1.5.4 // indirect
	github.com/kubernetes-csi/csi-proxy/client v1.0.1 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	go.uber.org/mock v0.5.2 // indirect
	golang.org/x/net v0.40.0 // indirect
	golang.org/x/sys v0.33.0 // indirect
	golang.org/x/text v0.25.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20250218202821-56aae31c358a // indirect
	google.golang.org/grpc v1.72.0 // indirect
	google.golang.org/protobuf v1.36.6 // indirect
	k8s.io/klog/v2 v2.130.1 // indirect
	k8s.io/utils v0.0.0-20250502105355-0f33e8f1c979 // indirect
)

replace csi-proxy.example/drivers/steps => ../steps
