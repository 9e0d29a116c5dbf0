module csi-proxy.example/go-v2

go 1.24.3

// As the library's own module has it: how os.Lstat names mount points depends on it.
godebug winsymlink=0

require github.com/kubernetes-csi/csi-proxy/v2 v2.0.0-alpha.2

require (
	github.com/go-logr/logr v0.4.0 // indirect
	github.com/go-ole/go-ole v1.3.0 // indirect
	github.com/microsoft/wmi v0.34.0 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	golang.org/x/sys v0.32.0 // indirect
	k8s.io/klog/v2 v2.9.0 // indirect
)
