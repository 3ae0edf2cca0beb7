package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/castalia-org/castalia/test/servers"
)

// The keys of the test server. They guard nothing.
const (
	s3Access = "test"
	s3Secret = "testsecret"
)

// startS3 starts versitygw on a folder.
func startS3(ctx context.Context, dir string) (*server, []string, error) {
	program, err := servers.Versitygw()
	if err != nil {
		return nil, nil, err
	}
	port, free, err := servers.Port()
	if err != nil {
		return nil, nil, err
	}
	root, versions, iam, sidecar := filepath.Join(dir, "s3"), filepath.Join(dir, "s3-versions"),
		filepath.Join(dir, "s3-iam"), filepath.Join(dir, "s3-attributes")
	for _, d := range []string{root, versions, iam, sidecar} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return nil, nil, err
		}
	}
	listen := "127.0.0.1:" + strconv.Itoa(port)
	args := []string{"--port", listen, "--iam-dir", iam, "--quiet", "posix", "--versioning-dir", versions}
	if !servers.KeepsAttributes(root) {
		args = append(args, "--sidecar", sidecar)
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, append(args, root)...)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+s3Access, "ROOT_SECRET_KEY="+s3Secret)
	// It would wait for idle connections, and nothing it holds is wanted.
	s, err := launch(ctx, cmd, syscall.SIGKILL, filepath.Join(dir, "s3.log"), func(ctx context.Context) error {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", listen)
		if err != nil {
			return err
		}
		return conn.Close()
	})
	if err != nil {
		free()
		return nil, nil, err
	}
	s.free = free
	return s, []string{
		"TEST_S3_URL=s3://?endpoint=http://" + listen + "&region=us-east-1&path_style=true",
		"AWS_ACCESS_KEY_ID=" + s3Access,
		"AWS_SECRET_ACCESS_KEY=" + s3Secret,
	}, nil
}
