package host

import (
	"context"
	"fmt"
	"io/fs"
	"syscall"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// callError is the error of a call. Its text is the node's own; it has a gRPC status, and matches
// the equivalent errors of packages os and context.
type callError struct{ status *status.Status }

func (e callError) Error() string { return e.status.Message() }

// GRPCStatus returns the status for status.Code and status.FromError.
func (e callError) GRPCStatus() *status.Status { return e.status }

// like maps codes to the equivalent errors of Go.
var like = map[codes.Code]error{
	codes.NotFound:         fs.ErrNotExist,
	codes.AlreadyExists:    fs.ErrExist,
	codes.PermissionDenied: fs.ErrPermission,
	codes.InvalidArgument:  fs.ErrInvalid,
	codes.Canceled:         context.Canceled,
	codes.DeadlineExceeded: context.DeadlineExceeded,
}

// Is reports whether target is the Go or system error equivalent to this gRPC code.
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

// Error converts the error of a call to the form that this module's functions return.
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

// ErrorOf returns Error(err). It takes both results of a call whose response is empty, and drops the response.
func ErrorOf[Response any](_ Response, err error) error { return Error(err) }

// OrNil returns the response, or nil if err is not nil.
func OrNil[Response any](response *Response, err error) (*Response, error) {
	if err != nil {
		return nil, err
	}
	return response, nil
}

// Errorf returns an error with the given code.
func Errorf(code codes.Code, format string, args ...interface{}) error {
	return callError{status.New(code, fmt.Sprintf(format, args...))}
}

// Invalid returns an error about the arguments of a call.
func Invalid(format string, args ...interface{}) error {
	return Errorf(codes.InvalidArgument, format, args...)
}

// NoRequest returns the error of a method whose request is nil.
func NoRequest(method string) error { return Invalid("%s: the request is nil", method) }

// Unsupported returns the error of an operation that the node does not offer by itself.
func Unsupported(what, instead string) error {
	return Errorf(codes.Unimplemented, "unsupported: %s; %s", what, instead)
}
