// run.sh builds these files within the module of the Go release, which has what they import.
module csi-proxy.example/upstream
