//go:build tools

package main

// The server that this one replaces, built to be measured against.
import _ "github.com/kubernetes-csi/csi-proxy/cmd/csi-proxy"
