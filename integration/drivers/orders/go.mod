// Without a requirement, so that it raises no version of a module that uses it.
module csi-proxy.example/drivers/orders

go 1.24
