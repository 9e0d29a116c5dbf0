// This module requires nothing, so that a driver's go.mod gains only one line.
module github.com/csi-proxy/csi-proxy/client/go/csiproxytest/v2

go 1.19
