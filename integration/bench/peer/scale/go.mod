module csi-proxy.example/peer/scale

go 1.24

require (
	csi-proxy.example/peer/figures v0.0.0
	github.com/kubernetes-csi/csi-proxy/client v1.3.0
	google.golang.org/genproto v0.0.0-20240227224415-6ceb2ff114de
	google.golang.org/grpc v1.72.0
	google.golang.org/protobuf v1.36.6
)

require (
	golang.org/x/net v0.35.0 // indirect
	golang.org/x/sys v0.30.0 // indirect
	golang.org/x/text v0.22.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20250218202821-56aae31c358a // indirect
)

replace csi-proxy.example/peer/figures => ../figures
