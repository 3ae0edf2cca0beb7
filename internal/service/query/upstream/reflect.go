package upstream

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// The two versions of server reflection have the same messages.
const (
	reflectionV1      = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
	reflectionV1Alpha = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
)

// allFiles is how Cosmos nodes give every file at once, also those with types
// that only occur inside Any.
const (
	allFilesService = "cosmos.reflection.v1.ReflectionService"
	allFilesMethod  = "/" + allFilesService + "/FileDescriptors"
)

// maxFiles bounds what a node may describe.
const maxFiles = 20000

// reflector asks one node for its descriptors over one stream.
type reflector struct {
	stream grpc.ClientStream
	files  []*descriptorpb.FileDescriptorProto
	seen   map[string]bool
	bytes  int
}

// newReflector opens a stream, of the old version when the new one is not there.
func newReflector(ctx context.Context, conn *grpc.ClientConn) (*reflector, []string, error) {
	var last error
	for _, method := range []string{reflectionV1, reflectionV1Alpha} {
		stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method, protoCodec())
		if err != nil {
			return nil, nil, fmt.Errorf("open reflection: %w", err)
		}
		r := &reflector{stream: stream, seen: make(map[string]bool)}
		services, err := r.services()
		if err == nil {
			return r, services, nil
		}
		last = err
		if status.Code(err) != codes.Unimplemented {
			break
		}
	}
	return nil, nil, last
}

func (r *reflector) ask(request *reflection.ServerReflectionRequest) (*reflection.ServerReflectionResponse, error) {
	if err := r.stream.SendMsg(request); err != nil {
		// The reason comes with the next receive.
		if err := r.stream.RecvMsg(new(reflection.ServerReflectionResponse)); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("ask reflection: %w", err)
	}
	response := new(reflection.ServerReflectionResponse)
	if err := r.stream.RecvMsg(response); err != nil {
		return nil, err
	}
	if e := response.GetErrorResponse(); e != nil {
		return nil, &refusedError{e.GetErrorMessage()}
	}
	return response, nil
}

// refusedError is a node that answers and does not know. It is told from a
// stream that breaks: half of a chain must not look like the whole.
type refusedError struct{ message string }

func (e *refusedError) Error() string { return "the node says: " + e.message }

func refused(err error) bool {
	_, ok := errors.AsType[*refusedError](err)
	return ok
}

func (r *reflector) services() ([]string, error) {
	response, err := r.ask(&reflection.ServerReflectionRequest{
		MessageRequest: &reflection.ServerReflectionRequest_ListServices{ListServices: "*"},
	})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range response.GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
	}
	slices.Sort(names)
	return names, nil
}

// symbol adds the file of a service or message, with all that it imports.
func (r *reflector) symbol(name string) error {
	return r.take(&reflection.ServerReflectionRequest{
		MessageRequest: &reflection.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name},
	})
}

func (r *reflector) take(request *reflection.ServerReflectionRequest) error {
	response, err := r.ask(request)
	if err != nil {
		return err
	}
	for _, raw := range response.GetFileDescriptorResponse().GetFileDescriptorProto() {
		if err := r.add(raw); err != nil {
			return err
		}
	}
	return nil
}

func (r *reflector) add(raw []byte) error {
	if r.bytes += len(raw); r.bytes > maxDescriptors || len(r.files) >= maxFiles {
		return errors.New("reflection: the node describes more than we take")
	}
	file := new(descriptorpb.FileDescriptorProto)
	if err := proto.Unmarshal(raw, file); err != nil {
		return nil //nolint:nilerr // one broken file must not hide the others
	}
	if r.seen[file.GetName()] {
		return nil
	}
	r.seen[file.GetName()] = true
	r.files = append(r.files, file)
	return nil
}

// imports fetches what the files import and the node did not send by itself.
func (r *reflector) imports() error {
	for i := 0; i < len(r.files); i++ { // it grows on the way
		for _, name := range r.files[i].GetDependency() {
			if r.seen[name] {
				continue
			}
			err := r.take(&reflection.ServerReflectionRequest{
				MessageRequest: &reflection.ServerReflectionRequest_FileByFilename{FileByFilename: name},
			})
			if err != nil && !refused(err) {
				return err
			}
			r.seen[name] = true // linking goes on without it
		}
	}
	return nil
}

// discover returns all that a node describes and the services that it has.
func discover(ctx context.Context, conn *grpc.ClientConn) ([]*descriptorpb.FileDescriptorProto, []string, error) {
	r, services, err := newReflector(ctx, conn)
	if err != nil {
		return nil, nil, fmt.Errorf("discover services: %w", err)
	}
	defer func() { _ = r.stream.CloseSend() }()
	found := 0
	for _, name := range services {
		switch err := r.symbol(name); {
		case err == nil:
			found++
		case !refused(err):
			return nil, nil, fmt.Errorf("discover %s: %w", name, err)
		}
	}
	if found == 0 && len(services) > 0 {
		return nil, nil, errors.New("discover services: the node lists services and describes none")
	}
	if err := r.imports(); err != nil {
		return nil, nil, fmt.Errorf("discover imports: %w", err)
	}
	if slices.Contains(services, allFilesService) {
		r.addAll(ctx, conn)
	}
	return r.files, services, nil
}

// addAll adds what the node gives at once. It is an extra: failure is silent.
func (r *reflector) addAll(ctx context.Context, conn *grpc.ClientConn) {
	var reply rawMessage
	if conn.Invoke(ctx, allFilesMethod, &rawMessage{}, &reply) != nil {
		return
	}
	defer reply.free()
	for b := reply.data; len(b) > 0; {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return
		}
		size := protowire.ConsumeFieldValue(num, typ, b[n:])
		if size < 0 {
			return
		}
		if num == 1 && typ == protowire.BytesType {
			raw, _ := protowire.ConsumeBytes(b[n:])
			if r.add(raw) != nil {
				return
			}
		}
		b = b[n+size:]
	}
}

// describe returns the files of one message type.
func describe(ctx context.Context, conn *grpc.ClientConn, name string) ([]*descriptorpb.FileDescriptorProto, error) {
	r, _, err := newReflector(ctx, conn)
	if err != nil {
		return nil, fmt.Errorf("describe %s: %w", name, err)
	}
	defer func() { _ = r.stream.CloseSend() }()
	if err := r.symbol(name); err != nil {
		return nil, fmt.Errorf("describe %s: %w", name, err)
	}
	if err := r.imports(); err != nil {
		return nil, fmt.Errorf("describe %s: %w", name, err)
	}
	return r.files, nil
}
