// The module requires nothing, so that a driver that tests with it gains one line of go.mod.
module github.com/csi-proxy/csi-proxy/client/go/csiproxytest/v2

go 1.19
