package csiproxy

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
)

// embedded is a node that this process manages.
type embedded struct {
	library *library
	node    uint64
	log     uintptr

	closing sync.Once
	closed  atomic.Bool
}

func openEmbedded(o *options) (*embedded, error) {
	l, err := loadLibrary(firstSet(o.library, "CSI_PROXY_LIBRARY", ""))
	if err != nil {
		return nil, err
	}
	config, err := o.openJSON()
	if err != nil {
		return nil, err
	}
	log := addLog(o.log)
	node, code, message := l.openNode(config, log)
	if code != codes.OK {
		removeLog(log)
		return nil, status.Error(code, message)
	}
	return &embedded{library: l, node: node, log: log}, nil
}

func (e *embedded) Invoke(ctx context.Context, method string, args, reply interface{}, opts ...grpc.CallOption) (err error) {
	codec, finish := meaningful(opts)
	defer func() { finish(err) }()
	request, err := codec.Marshal(args)
	if err != nil {
		return status.Errorf(codes.Internal, "grpc: error while marshaling: %v", err)
	}
	response, err := e.call(ctx, method, request)
	if err != nil {
		return err
	}
	if err := codec.Unmarshal(response, reply); err != nil {
		return status.Errorf(codes.Internal, "grpc: failed to unmarshal the received message: %v", err)
	}
	return nil
}

// answer is the result of a call: response if code is OK, otherwise message.
type answer struct {
	response []byte
	code     codes.Code
	message  string
}

// call makes a call with serialized messages. It runs on this thread if ctx cannot be cancelled.
// Otherwise it runs on a new thread; after a cancellation that thread and its buffers stay until
// the call returns.
func (e *embedded) call(ctx context.Context, method string, request []byte) ([]byte, error) {
	if e.closed.Load() {
		return nil, grpc.ErrClientConnClosing
	}
	if ctx.Done() == nil {
		var a answer
		a.response, a.code, a.message = e.library.invokeMethod(e.node, 0, method, request, -1)
		return a.response, e.errorOf(ctx, a)
	}
	if err := ctx.Err(); err != nil {
		return nil, status.FromContextError(err).Err()
	}
	timeout := int64(-1)
	if deadline, ok := ctx.Deadline(); ok {
		if timeout = int64(time.Until(deadline)); timeout < 0 {
			timeout = 0
		}
	}
	call, code := e.library.beginCall(e.node)
	if code != codes.OK {
		return nil, e.errorOf(ctx, answer{code: code, message: "the call cannot be announced"})
	}
	done := make(chan answer, 1)
	go func() {
		var a answer
		a.response, a.code, a.message = e.library.invokeMethod(e.node, call, method, request, timeout)
		done <- a
	}()
	select {
	case a := <-done:
		return a.response, e.errorOf(ctx, a)
	case <-ctx.Done():
		e.library.cancelCall(call)
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

// errorOf returns the error that gRPC's client would return for a call. A call that ctx or Close
// ended gets the error of ctx or of Close, no matter which side noticed the end first.
func (e *embedded) errorOf(ctx context.Context, a answer) error {
	switch a.code {
	case codes.OK:
		return nil
	case codes.Canceled, codes.DeadlineExceeded:
		if err := ctx.Err(); err != nil {
			return status.FromContextError(err).Err()
		}
		if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
			return status.FromContextError(context.DeadlineExceeded).Err()
		}
	}
	if e.closed.Load() && (a.code == codes.Canceled || a.code == codes.NotFound) {
		return grpc.ErrClientConnClosing
	}
	return status.Error(a.code, a.message)
}

func (e *embedded) Close() error {
	e.closing.Do(func() {
		e.closed.Store(true)
		e.library.closeNode(e.node)
		removeLog(e.log)
	})
	return nil
}

// meaningful returns the codec of opts, and a function that calls every OnFinish of opts. Embedded mode ignores
// all other options.
func meaningful(opts []grpc.CallOption) (encoding.Codec, func(error)) {
	var codec encoding.Codec = protoCodec{}
	var finish []func(error)
	for _, option := range opts {
		switch o := option.(type) {
		case grpc.ForceCodecCallOption:
			codec = o.Codec
		case grpc.OnFinishCallOption:
			finish = append(finish, o.OnFinish)
		}
	}
	return codec, func(err error) {
		for _, f := range finish {
			f(err)
		}
	}
}

// protoCodec serializes as gRPC's own codec does. encoding.GetCodec is not used, because its result
// depends on gRPC's release.
type protoCodec struct{}

func (protoCodec) Name() string { return "proto" }

func (protoCodec) Marshal(v interface{}) ([]byte, error) {
	message, err := messageOf(v)
	if err != nil {
		return nil, err
	}
	return proto.Marshal(message)
}

func (protoCodec) Unmarshal(data []byte, v interface{}) error {
	message, err := messageOf(v)
	if err != nil {
		return err
	}
	return proto.Unmarshal(data, message)
}

// messageOf accepts messages of every generation of generated code.
func messageOf(v interface{}) (proto.Message, error) {
	switch m := v.(type) {
	case proto.Message:
		return m, nil
	case protoadapt.MessageV1:
		return protoadapt.MessageV2Of(m), nil
	}
	return nil, fmt.Errorf("%T is not a protobuf message", v)
}
