// PathExists of filesystem v1 by ttrpc, containerd's protocol for sockets within a machine: a frame of ten
// bytes and two protobuf messages, without HTTP/2. Server and client.
//
//	ttrpc SOCKET
//	ttrpc -socket SOCKET ...     the flags and the output of legacy_go/load
package main

import (
	"context"
	"encoding/json"
	"flag"
	"net"
	"os"
	"sort"
	"sync"
	"time"

	"github.com/containerd/ttrpc"
	v1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"

	"csi-proxy.example/integration/bench/peer/figures"
	"csi-proxy.example/integration/bench/peer/filesystem"
)

const service, method = "v1.Filesystem", "PathExists"

func serve(socket string) {
	listener, err := net.Listen("unix", socket)
	figures.Must(err)
	server, err := ttrpc.NewServer()
	figures.Must(err)
	files := filesystem.New()
	server.Register(service, map[string]ttrpc.Method{
		method: func(ctx context.Context, unmarshal func(any) error) (any, error) {
			var request v1.PathExistsRequest
			if err := unmarshal(&request); err != nil {
				return nil, err
			}
			return files.PathExists(ctx, &request)
		},
	})
	figures.Must(server.Serve(context.Background(), listener))
}

func call(client *ttrpc.Client) {
	request := &v1.PathExistsRequest{Path: `C:\var\lib\kubelet`}
	figures.Must(client.Call(context.Background(), service, method, request, &v1.PathExistsResponse{}))
}

func main() {
	first := flag.Bool("first", false, "only wait for the first answer")
	length := flag.Duration("length", 3*time.Second, "how long")
	callers := flag.Int("callers", 1, "how many at once")
	connections := flag.Int("connections", 1, "how many they share")
	socket := flag.String("socket", "", "where to call")
	flag.Parse()
	if *socket == "" {
		serve(flag.Arg(0))
	}
	clients := make([]*ttrpc.Client, *connections)
	for i := range clients {
		connection, err := net.Dial("unix", *socket)
		for *first && err != nil {
			time.Sleep(time.Millisecond)
			connection, err = net.Dial("unix", *socket)
		}
		figures.Must(err)
		clients[i] = ttrpc.NewClient(connection)
		call(clients[i])
	}
	if *first {
		return
	}
	times := make([][]float64, *callers)
	start := time.Now()
	var done sync.WaitGroup
	for i := range times {
		done.Go(func() {
			for begin := time.Now(); begin.Sub(start) < *length; begin = time.Now() {
				call(clients[i%*connections])
				times[i] = append(times[i], float64(time.Since(begin).Nanoseconds())/1e3)
			}
		})
	}
	done.Wait()
	seconds := time.Since(start).Seconds()
	var all []float64
	for _, t := range times {
		all = append(all, t...)
	}
	sort.Float64s(all)
	figures.Must(json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"calls": float64(len(all)), "calls_per_second": float64(len(all)) / seconds,
		"p50_us": all[len(all)/2], "p99_us": all[len(all)*99/100],
	}))
}
