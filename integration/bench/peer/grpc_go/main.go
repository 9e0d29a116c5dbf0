// Filesystem v1 on a Unix socket with today's grpc-go.
//
//	grpc_go SOCKET
package main

import (
	"log"
	"net"
	"os"

	v1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"google.golang.org/grpc"

	"csi-proxy.example/integration/bench/peer/filesystem"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: grpc_go SOCKET")
	}
	listener, err := net.Listen("unix", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	v1.RegisterFilesystemServer(server, filesystem.New())
	log.Fatal(server.Serve(listener))
}
