module csi-proxy.example/drivers/clients

go 1.24

require (
	csi-proxy.example/drivers/orders v0.0.0
	github.com/kubernetes-csi/csi-proxy/client v1.3.0
)

replace csi-proxy.example/drivers/orders => ../orders
