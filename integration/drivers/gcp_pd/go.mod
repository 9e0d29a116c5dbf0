module csi-proxy.example/drivers/gcp_pd

go 1.26.0

require (
	csi-proxy.example/drivers/steps v0.0.0
	k8s.io/mount-utils v0.35.2
	sigs.k8s.io/gcp-compute-persistent-disk-csi-driver v1.28.1
)

require (
	github.com/Microsoft/go-winio v0.6.2 // indirect
	github.com/go-logr/logr v1.4.3 // indirect
	github.com/golang/protobuf v1.5.4 // indirect
	github.com/kubernetes-csi/csi-proxy/client v1.3.0 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260203192932-546029d2fa20 // indirect
	google.golang.org/grpc v1.79.3 // indirect
	google.golang.org/protobuf v1.36.11 // indirect
	k8s.io/klog/v2 v2.140.0 // indirect
	k8s.io/utils v0.0.0-20251002143259-bc988d571ff4 // indirect
)

replace csi-proxy.example/drivers/steps => ../steps
