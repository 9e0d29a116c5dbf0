// The module has no requirement, so it raises no version of a module that uses it.
module csi-proxy.example/drivers/orders

go 1.24
