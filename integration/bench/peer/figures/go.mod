module csi-proxy.example/peer/figures

go 1.24
