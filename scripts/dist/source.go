package main

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// stamp is what programs say of themselves.
type stamp struct {
	version string // without a v
	commit  string
	when    time.Time // the commit's time, in UTC
}

// build clones the commit and builds the console and the programs there.
func build(ctx context.Context, o options, work string, log io.Writer) (*release, error) {
	out, err := filepath.Abs(o.out)
	if err != nil {
		return nil, err
	}
	r := &release{source: filepath.Join(work, "source"), out: out, log: log}
	r.tell("cloning %s", o.commit)
	commit, err := output(ctx, ".", nil, "git", "rev-parse", "--verify", o.commit+"^{commit}")
	if err != nil {
		return nil, err
	}
	if _, err := output(ctx, ".", nil, "git", "clone", "--quiet", "--no-local", "--no-checkout", ".", r.source); err != nil {
		return nil, err
	}
	if _, err := output(ctx, r.source, nil, "git", "checkout", "--quiet", "--detach", commit); err != nil {
		return nil, err
	}
	web := filepath.Join(r.source, "web")
	for _, args := range [][]string{{"ci", "--no-audit", "--no-fund", "--silent"}, {"run", "--silent", "build"}} {
		r.tell("npm %s", strings.Join(args, " "))
		if _, err := output(ctx, web, nil, "npm", args...); err != nil {
			return nil, err
		}
	}
	for _, t := range o.targets {
		began := time.Now()
		t.program = filepath.Join(work, t.String(), t.executable())
		env := []string{"CGO_ENABLED=0", "GOOS=" + t.system, "GOARCH=" + t.machine, "GOFLAGS=", "GOWORK=off"}
		if _, err := output(ctx, r.source, env, "go", "build", "-trimpath", "-buildvcs=true", "-ldflags", "-s -w -buildid=", "-o", t.program, "./cmd/castalia"); err != nil {
			return nil, err
		}
		said, err := readStamp(t.program)
		if err != nil {
			return nil, err
		}
		if r.version != "" && said != r.stamp {
			return nil, fmt.Errorf("%s says %+v, and the others %+v", t, said, r.stamp)
		}
		if said.commit != commit {
			return nil, fmt.Errorf("%s says that it is commit %s, not %s", t, said.commit, commit)
		}
		r.stamp = said
		r.targets = append(r.targets, t)
		r.tell("built %s in %s", t, time.Since(began).Round(time.Second))
		if err := r.writeBill(ctx, t); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// readStamp reads what the compiler wrote into a program of any platform. One
// that was built from changed files is refused.
func readStamp(program string) (stamp, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return stamp{}, fmt.Errorf("read what the compiler wrote: %w", err)
	}
	s := stamp{version: strings.TrimPrefix(info.Main.Version, "v")}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			s.commit = setting.Value
		case "vcs.time":
			if s.when, err = time.Parse(time.RFC3339, setting.Value); err != nil {
				return stamp{}, err
			}
		case "vcs.modified":
			if setting.Value != "false" {
				return stamp{}, errors.New("built from files that are not committed")
			}
		}
	}
	if s.version == "" || s.version == "(devel)" || s.commit == "" || s.when.IsZero() {
		return stamp{}, fmt.Errorf("%s does not know its version: %q, commit %q", program, info.Main.Version, s.commit)
	}
	return s, nil
}

// writeBill writes the bill of materials of a program.
func (r *release) writeBill(ctx context.Context, t target) error {
	if err := os.MkdirAll(r.out, 0o755); err != nil { //nolint:gosec // a release is for everybody
		return err
	}
	bill, err := output(ctx, r.source, nil, "go", "run", "./scripts/sbom", t.program)
	if err != nil {
		return err
	}
	return writeFile(r.file(fmt.Sprintf("castalia_%s_%s.cdx.json", r.version, t)), bill+"\n")
}

// output runs a program and returns what it prints; its complaint is the error.
func output(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // what a release is made with
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, cmp.Or(complaint.String(), string(out)))
	}
	return strings.TrimSpace(string(out)), nil
}

// writeFile writes a file of the release, which everybody may read.
func writeFile(path, text string) error {
	return os.WriteFile(path, []byte(text), 0o644) //nolint:gosec // a release is for everybody
}
