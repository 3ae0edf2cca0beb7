package httprule_test

import (
	"testing"

	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/castalia-org/castalia/internal/service/query/querytest"
)

// TestBrokenDescriptors leaves out what cannot be linked, and only that.
func TestBrokenDescriptors(t *testing.T) {
	t.Parallel()
	files := querytest.DialectFiles(t, vectorsDir)
	broken := &descriptorpb.FileDescriptorProto{
		Name: new("broken.proto"), Package: new("broken"), Syntax: new("proto3"),
		Dependency: []string{"missing.proto"},
		MessageType: []*descriptorpb.DescriptorProto{{
			Name: new("M"),
			Field: []*descriptorpb.FieldDescriptorProto{{
				Name: new("f"), Number: new(int32(1)), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
				Type: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), TypeName: new(".missing.T"),
			}},
		}},
	}
	hopeless := &descriptorpb.FileDescriptorProto{
		Name: new("hopeless.proto"), Syntax: new("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: new("not a name")}},
	}
	c := catalog(t, append(files, broken, hopeless))
	if len(c.Routes) == 0 || len(c.Warnings) == 0 {
		t.Errorf("%d routes, warnings %q", len(c.Routes), c.Warnings)
	}
	if got, err := c.Types.Encode(nil, "broken.M", []byte("\x0a\x01a"), 100); err != nil || string(got) != `{"f":"YQ=="}` {
		t.Errorf("message with a missing type: %s, %v", got, err)
	}
}
