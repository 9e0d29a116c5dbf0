package csiproxy

import (
	"context"
	"testing"
	"time"

	filesystemv1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
)

// An embedded call and the service's, each with a deadline and without, one caller and many.
func BenchmarkPathExists(b *testing.B) {
	b.Run("embedded", func(b *testing.B) { benchmark(b, connectEmbedded(b)) })
	b.Run("remote", func(b *testing.B) {
		directory := tempDir(b)
		startService(b, directory)
		conn, err := Connect(Remote, WithSocketDir(directory))
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close()
		benchmark(b, conn)
	})
}

func benchmark(b *testing.B, conn *Conn) {
	client := filesystemv1.NewFilesystemClient(conn)
	request := &filesystemv1.PathExistsRequest{Path: plugins}
	call := func(b *testing.B, ctx context.Context) {
		if _, err := client.PathExists(ctx, request); err != nil {
			b.Error(err)
		}
	}
	b.Run("no deadline", func(b *testing.B) {
		for i := 0; i < b.N; i++ {
			call(b, context.Background())
		}
	})
	b.Run("deadline", func(b *testing.B) {
		for i := 0; i < b.N; i++ {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			call(b, ctx)
			cancel()
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.SetParallelism(8)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				call(b, context.Background())
			}
		})
	})
}
