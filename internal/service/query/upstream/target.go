package upstream

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/castalia-org/castalia/internal/service/query/wirejson"
)

// maxDescriptors bounds a descriptor set, from a file or by reflection.
const maxDescriptors = 64 << 20

// Target is one gRPC node.
type Target struct {
	// Address is host:port, or what gRPC calls a target.
	Address string
	// TLS asks for an encrypted connection; CA is a PEM file to trust instead
	// of the system's roots, ServerName what the certificate must say.
	TLS            bool
	CA, ServerName string
}

// ParseTargets reads QUERY_UPSTREAMS. Each entry is host:port with options:
//
//	tls=1            encrypted; ca=FILE and server_name=NAME imply it
//	chain=NAME       nodes of one name are one chain ("main" when absent)
//	dialect=plain    how replies are written (cosmos when absent)
//	descriptors=FILE a FileDescriptorSet instead of server reflection
//	post=METHOD      a method, pkg.Service/Method, that may be called by POST
func ParseTargets(list []string) ([]Config, error) {
	var chains []Config
	for _, entry := range list {
		address, raw, _ := strings.Cut(strings.TrimSpace(entry), "?")
		options, err := url.ParseQuery(raw)
		if err != nil || address == "" {
			return nil, fmt.Errorf("upstream %q: want host:port?option=value&…", entry)
		}
		name := options.Get("chain")
		if name == "" {
			name = "main"
		}
		at := slices.IndexFunc(chains, func(c Config) bool { return c.Name == name })
		if at < 0 {
			at = len(chains)
			chains = append(chains, Config{Name: name})
		}
		if err := chains[at].apply(address, options); err != nil {
			return nil, fmt.Errorf("upstream %q: %w", entry, err)
		}
	}
	return chains, nil
}

func (c *Config) apply(address string, options url.Values) error {
	target := Target{Address: address, CA: options.Get("ca"), ServerName: options.Get("server_name")}
	for name, values := range options {
		switch name {
		case "chain", "ca", "server_name":
		case "tls":
			target.TLS = values[0] == "1" || values[0] == "true"
		case "descriptors":
			c.Descriptors = values[0]
		case "post":
			c.Methods = append(c.Methods, values...)
		case "dialect":
			switch values[0] {
			case "cosmos":
			case "plain":
				c.Dialect = wirejson.Plain
			default:
				return fmt.Errorf("dialect %q is not cosmos or plain", values[0])
			}
		default:
			return fmt.Errorf("no option %q; there are tls, ca, server_name, chain, dialect, descriptors, post", name)
		}
	}
	target.TLS = target.TLS || target.CA != "" || target.ServerName != ""
	c.Targets = append(c.Targets, target)
	return nil
}

func (t Target) credentials() (credentials.TransportCredentials, error) {
	if !t.TLS {
		return insecure.NewCredentials(), nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("read ca: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read ca %s: no certificate in it", t.CA)
		}
	}
	return credentials.NewTLS(cfg), nil
}

// readDescriptors loads a FileDescriptorSet, as `protoc --descriptor_set_out
// --include_imports` writes it.
func readDescriptors(path string) ([]*descriptorpb.FileDescriptorProto, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read descriptors: %w", err)
	}
	if info.Size() > maxDescriptors {
		return nil, fmt.Errorf("read descriptors: %s is larger than %d bytes", path, maxDescriptors)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read descriptors: %w", err)
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(raw, &set); err != nil {
		return nil, fmt.Errorf("read descriptors %s: %w", path, err)
	}
	if len(set.GetFile()) == 0 {
		return nil, errors.New("read descriptors: the set is empty")
	}
	return set.GetFile(), nil
}
