package blobs3

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/blob"
)

// Config of a Store.
type Config struct {
	Bucket string
	// Prefix is put before every key; it is empty or ends in a slash.
	Prefix string
	// Endpoint is the server's URL; empty means Amazon's for the region.
	Endpoint  string
	Region    string
	PathStyle bool

	AccessKey, SecretKey, SessionToken string

	// Transport, when set, replaces the HTTP transport.
	Transport http.RoundTripper
}

// ParseURL reads s3://bucket/prefix?endpoint=&region=&path_style=. Credentials
// are not part of a URL: set them in the result.
func ParseURL(text string) (Config, error) {
	u, err := url.Parse(text)
	if err != nil {
		return Config{}, fmt.Errorf("object store URL: %w", err)
	}
	if u.Scheme != "s3" || u.User != nil || u.Port() != "" {
		return Config{}, fmt.Errorf("object store URL must be s3://bucket/prefix?endpoint=&region=&path_style=")
	}
	q := u.Query()
	c := Config{Bucket: u.Host, Endpoint: q.Get("endpoint"), Region: q.Get("region")}
	for name := range q {
		switch name {
		case "endpoint", "region", "path_style":
		default:
			return Config{}, fmt.Errorf("object store URL has an unknown setting %q", name)
		}
	}
	if v := q.Get("path_style"); v != "" {
		if c.PathStyle, err = strconv.ParseBool(v); err != nil {
			return Config{}, fmt.Errorf("path_style must be true or false, not %q", v)
		}
	}
	if p := strings.Trim(u.Path, "/"); p != "" {
		if err := blob.CheckKey(p); err != nil {
			return Config{}, fmt.Errorf("object store prefix %q: %w", p, err)
		}
		c.Prefix = p + "/"
	}
	if c.Region == "" {
		c.Region = "us-east-1"
	}
	return c, nil
}

// address splits the endpoint into host and whether it is reached by TLS.
func (c Config) address() (host string, secure bool, err error) {
	if c.Bucket == "" {
		return "", false, fmt.Errorf("object store URL names no bucket")
	}
	if c.Endpoint == "" {
		return "s3." + c.Region + ".amazonaws.com", true, nil
	}
	u, err := url.Parse(c.Endpoint)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || strings.Trim(u.Path, "/") != "" {
		return "", false, fmt.Errorf("S3 endpoint must be http(s)://host[:port], not %q", c.Endpoint)
	}
	return u.Host, u.Scheme == "https", nil
}
