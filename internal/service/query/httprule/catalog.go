package httprule

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/castalia-org/castalia/internal/service/query/wirejson"
)

// CatalogOptions say how a chain's descriptors are read.
type CatalogOptions struct {
	// Name is the chain's name in logs and in the operator's view.
	Name string
	// Dialect is how its replies are written.
	Dialect wirejson.Dialect
	// Services limits the catalogue to these; nil takes all that are described.
	Services []string
	// Methods lists methods ("pkg.Service/Method") that may be called by
	// another verb than GET.
	Methods []string
}

// Catalog is what one chain's descriptors say: its routes, and how its
// messages are written. It is safe for concurrent use.
type Catalog struct {
	Name     string
	Routes   []*Route
	Warnings []string
	// Digest names the content: equal descriptors and options, equal digest.
	Digest string
	// Types are the messages; they learn those that only occur inside Any.
	Types *wirejson.Types

	allowed map[string]bool
}

// maxWarnings bounds what a broken descriptor set can put into the log.
const maxWarnings = 100

// NewCatalog links the files as far as they can be linked. What cannot be is
// reported in Warnings and left out: one broken file must not take the other
// services away.
func NewCatalog(files []*descriptorpb.FileDescriptorProto, opt CatalogOptions) (*Catalog, error) {
	c := &Catalog{Name: opt.Name, Types: wirejson.NewTypes(opt.Dialect), allowed: make(map[string]bool)}
	for _, m := range opt.Methods {
		c.allowed[m] = true
	}
	digest, err := digestOf(files, opt)
	if err != nil {
		return nil, err
	}
	c.Digest = digest
	for _, w := range c.Types.Learn(files) {
		c.warn("%s", w)
	}
	for _, fd := range c.Types.Files() {
		c.addRoutes(fd, opt.Services)
	}
	return c, nil
}

func digestOf(files []*descriptorpb.FileDescriptorProto, opt CatalogOptions) (string, error) {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%q %d %q %q", opt.Name, opt.Dialect, slices.Sorted(slices.Values(opt.Services)), opt.Methods)
	byName := slices.SortedFunc(slices.Values(files), func(a, b *descriptorpb.FileDescriptorProto) int {
		if a.GetName() < b.GetName() {
			return -1
		}
		return 1
	})
	for _, f := range byName {
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(f)
		if err != nil {
			return "", fmt.Errorf("digest descriptors: %w", err)
		}
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

func (c *Catalog) warn(format string, args ...any) {
	if len(c.Warnings) < maxWarnings {
		c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...))
	}
}

func (c *Catalog) addRoutes(fd protoreflect.FileDescriptor, only []string) {
	services := fd.Services()
	for i := range services.Len() {
		sd := services.Get(i)
		if only != nil && !slices.Contains(only, string(sd.FullName())) {
			continue
		}
		for j := range sd.Methods().Len() {
			c.Routes = append(c.Routes, c.methodRoutes(sd.Methods().Get(j))...)
		}
	}
}
