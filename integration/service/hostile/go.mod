module csi-proxy.example/hostile

go 1.24

require (
	csi-proxy.example/drivers/steps v0.0.0
	github.com/kubernetes-csi/csi-proxy/client v1.3.0
	golang.org/x/net v0.35.0
	golang.org/x/sys v0.30.0
	google.golang.org/grpc v1.72.0
)

require (
	github.com/Microsoft/go-winio v0.6.2 // indirect
	github.com/golang/protobuf v1.5.4 // indirect
	golang.org/x/text v0.22.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20250218202821-56aae31c358a // indirect
	google.golang.org/protobuf v1.36.6 // indirect
)

replace csi-proxy.example/drivers/steps => ../../drivers/steps
