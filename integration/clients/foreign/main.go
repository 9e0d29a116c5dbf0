// Program foreign asks every pipe below a directory for its descriptors, as grpcurl does, but by each version
// of the reflection protocol; grpcurl cannot be told which to use.
//
//	foreign DIRECTORY
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/jhump/protoreflect/desc"
	"github.com/jhump/protoreflect/grpcreflect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// beside are the services that every pipe has in addition to its own.
var beside = []string{
	"grpc.health.v1.Health",
	"grpc.reflection.v1.ServerReflection",
	"grpc.reflection.v1alpha.ServerReflection",
}

// describe resolves every service of a pipe: first its own, then those in beside.
func describe(client *grpcreflect.Client) ([]*desc.ServiceDescriptor, error) {
	names, err := client.ListServices()
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(beside, name) })
	if len(names) != 1 {
		return nil, fmt.Errorf("services of its own: %q", names)
	}
	var services []*desc.ServiceDescriptor
	for _, name := range append(names, beside...) {
		service, err := client.ResolveService(name)
		if err != nil {
			return nil, fmt.Errorf("describe %s: %w", name, err)
		}
		if len(service.GetMethods()) == 0 {
			return nil, fmt.Errorf("%s has no rpcs", name)
		}
		services = append(services, service)
	}
	return services, nil
}

// refuses checks that the pipe refuses to describe other symbols.
func refuses(client *grpcreflect.Client) error {
	for _, symbol := range []string{"google.protobuf.FileDescriptorProto", "v1.Nothing"} {
		if _, err := client.FileContainingSymbol(symbol); !grpcreflect.IsElementNotFoundError(err) {
			return fmt.Errorf("%s: %w", symbol, err)
		}
	}
	_, err := client.AllExtensionNumbersForType("grpc.health.v1.HealthCheckRequest")
	if status.Code(err) != codes.Unimplemented {
		return fmt.Errorf("extensions: %w", err)
	}
	return nil
}

// pipe returns the number of services described, which must be the same in both versions of the protocol.
func pipe(socket string) (int, error) {
	connection, err := grpc.Dial("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return 0, err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	v1 := grpcreflect.NewClientV1(ctx, reflectionv1.NewServerReflectionClient(connection))
	v1alpha := grpcreflect.NewClientV1Alpha(ctx, reflectionv1alpha.NewServerReflectionClient(connection))
	services, err := describe(v1)
	if err != nil {
		return 0, fmt.Errorf("v1: %w", err)
	}
	others, err := describe(v1alpha)
	if err != nil {
		return 0, fmt.Errorf("v1alpha: %w", err)
	}
	for i, service := range services {
		if !proto.Equal(service.GetFile().AsFileDescriptorProto(), others[i].GetFile().AsFileDescriptorProto()) {
			return 0, fmt.Errorf("%s: v1 and v1alpha differ", service.GetFullyQualifiedName())
		}
	}
	for _, client := range []*grpcreflect.Client{v1, v1alpha} {
		if err := refuses(client); err != nil {
			return 0, err
		}
	}
	return len(services), nil
}

func main() {
	sockets, err := filepath.Glob(filepath.Join(os.Args[1], "csi-proxy-*-v*.sock"))
	if err != nil || len(sockets) == 0 {
		fmt.Fprintln(os.Stderr, "no pipes in", os.Args[1], err)
		os.Exit(1)
	}
	described := 0
	for _, socket := range sockets {
		count, err := pipe(socket)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(socket), err)
			os.Exit(1)
		}
		described += count
	}
	fmt.Printf("%d services of %d pipes, alike in v1 and v1alpha\n", described, len(sockets))
}
