package host

import (
	"context"
	"fmt"
	"io/fs"
	"syscall"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// callError is what a call ended with. It reads as the node's own text, has a gRPC status, and
// matches what os and context call the same thing.
type callError struct{ status *status.Status }

func (e callError) Error() string { return e.status.Message() }

// GRPCStatus is what status.Code and status.FromError ask for.
func (e callError) GRPCStatus() *status.Status { return e.status }

// like is Go's own name of what a code says.
var like = map[codes.Code]error{
	codes.NotFound:         fs.ErrNotExist,
	codes.AlreadyExists:    fs.ErrExist,
	codes.PermissionDenied: fs.ErrPermission,
	codes.InvalidArgument:  fs.ErrInvalid,
	codes.Canceled:         context.Canceled,
	codes.DeadlineExceeded: context.DeadlineExceeded,
}

// Is tells whether target says the same: the code's name in Go, or an error of the system that has
// this name.
func (e callError) Is(target error) bool {
	same := like[e.status.Code()]
	if same == nil {
		return false
	}
	if errno, ok := target.(syscall.Errno); ok {
		return errno.Is(same)
	}
	return target == same
}

// Error returns what a call ended with as this module's functions return it.
func Error(err error) error {
	if err == nil {
		return nil
	}
	if known, ok := err.(callError); ok {
		return known
	}
	s, _ := status.FromError(err)
	return callError{s}
}

// Errorf makes an error of this module.
func Errorf(code codes.Code, format string, args ...interface{}) error {
	return callError{status.New(code, fmt.Sprintf(format, args...))}
}

// Invalid is an error in what a call was given.
func Invalid(format string, args ...interface{}) error {
	return Errorf(codes.InvalidArgument, format, args...)
}

// NoRequest is the error of a method whose request is nil.
func NoRequest(method string) error { return Invalid("%s: the request is nil", method) }

// Unsupported is the error of what the node cannot be asked to do by itself.
func Unsupported(what, instead string) error {
	return Errorf(codes.Unimplemented, "unsupported: %s; %s", what, instead)
}
