package main

import (
	"context"
	"net"

	"github.com/Microsoft/go-winio"
)

func dialer(string) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, name string) (net.Conn, error) {
		return winio.DialPipeContext(ctx, `\\.\pipe\`+name)
	}
}
