// Does what aws-ebs and others do to the service: opens thousands of pipes by go-winio, as the
// client of v1.3.0 opens them, and leaves them alone, while callers work. No call may fail, and the
// service must end every one of them after its deadline.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/Microsoft/go-winio"
	v1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v1"
)

const pipe = `\\.\pipe\csi-proxy-filesystem-v1`

func fail(format string, args ...interface{}) {
	fmt.Printf(format+"\n", args...)
	os.Exit(1)
}

func main() {
	abandoned := flag.Int("abandoned", 5000, "connections to open and leave")
	callers := flag.Int("callers", 8, "clients that call meanwhile")
	deadline := flag.Duration("deadline", 10*time.Second, "the service's --preface-timeout")
	flag.Parse()

	var calls, failed int64
	done := make(chan struct{})
	var working sync.WaitGroup
	for i := 0; i < *callers; i++ {
		client, err := filesystem.NewClient()
		if err != nil {
			fail("client: %v", err)
		}
		working.Add(1)
		go func() {
			defer working.Done()
			defer client.Close()
			for {
				select {
				case <-done:
					return
				default:
				}
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				_, err := client.PathExists(ctx, &v1.PathExistsRequest{Path: `C:\var\lib\kubelet`})
				cancel()
				atomic.AddInt64(&calls, 1)
				if err != nil {
					atomic.AddInt64(&failed, 1)
					fmt.Println(err)
				}
			}
		}()
	}

	begun := time.Now()
	left := make([]net.Conn, 0, *abandoned)
	patience := 30 * time.Second
	for i := 0; i < *abandoned; i++ {
		conn, err := winio.DialPipe(pipe, &patience)
		if err != nil {
			fail("connection %d: %v", i, err)
		}
		left = append(left, conn)
	}
	opened := time.Since(begun)

	// The end of each: nothing is ever sent, so a read ends when the service closes.
	var open int64
	var ending sync.WaitGroup
	for _, conn := range left {
		ending.Add(1)
		go func(conn net.Conn) {
			defer ending.Done()
			conn.SetReadDeadline(time.Now().Add(*deadline + 20*time.Second))
			if _, err := conn.Read(make([]byte, 1)); err == winio.ErrTimeout {
				atomic.AddInt64(&open, 1)
			}
			conn.Close()
		}(conn)
	}
	ending.Wait()
	ended := time.Since(begun)
	close(done)
	working.Wait()
	fmt.Printf("%d connections abandoned in %v, all ended after %v; %d calls meanwhile, %d failed, %d still open\n",
		len(left), opened.Round(time.Millisecond), ended.Round(time.Millisecond), calls, failed, open)
	if failed > 0 || open > 0 || calls == 0 {
		os.Exit(1)
	}
}
