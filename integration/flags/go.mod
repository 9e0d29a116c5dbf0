// Go's flag package and klog, for the test of command lines. run.sh puts another klog in place of v2.140.0.
module csi-proxy.example/flags

go 1.21

require (
	k8s.io/klog v1.0.0
	k8s.io/klog/v2 v2.140.0
)

require github.com/go-logr/logr v1.4.1 // indirect
