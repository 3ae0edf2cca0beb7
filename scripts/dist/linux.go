package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
)

// writePackage has nfpm make a package for a package manager of Linux.
func (r *release) writePackage(ctx context.Context, nfpm string, t target, kind string) error {
	program, err := filepath.Abs(nfpm)
	if err != nil {
		return err
	}
	env := []string{
		"SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.when.Unix(), 10), "VERSION=" + r.version, "ARCH=" + t.machine,
		"PROGRAM=" + t.program, "CHANGES=" + r.file(changelogFile),
	}
	_, err = output(ctx, r.source, env, program, "package", "--config", "deploy/package/nfpm.yaml", "--packager", kind,
		"--target", r.file(fmt.Sprintf("castalia_%s_%s.%s", r.version, t, kind)))
	return err
}
