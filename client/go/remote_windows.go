package csiproxy

import (
	"context"
	"errors"
	"io/fs"
	"net"

	"github.com/Microsoft/go-winio"
)

func pipePath(_, name string) string { return `\\.\pipe\` + name }

func dialPipe(ctx context.Context, path string) (net.Conn, error) {
	return winio.DialPipeContext(ctx, path)
}

func isAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) }
