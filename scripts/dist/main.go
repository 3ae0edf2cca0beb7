// Command dist makes a release of Castalia from one commit, in a folder:
// programs for every platform, .deb and .rpm packages, images, npm packages, an
// install script, the changelog, bills of materials, SHA256SUMS and, with a key,
// its signature.
//
//	go run ./scripts/dist -commit v0.2.0 -out dist -key release.key
//
// The sources are a clone of the commit, so nothing of a work tree gets in. The
// same commit is the same bytes: times are the commit's, names are sorted, and
// whoever has the key makes the same signature. Images hold the roots of trust of
// the machine (-roots); they alone differ where those do.
//
// It refuses to write into a folder that has something in it.
//
// Decision: ADR 0225.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1) //nolint:forbidigo // a program of its own
	}
}

// platforms that are built when nobody chooses.
const platforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64"

type options struct {
	commit, out, key, url, nfpm, roots string
	targets                            []target
}

func run(ctx context.Context, args []string, log io.Writer) error {
	fs := flag.NewFlagSet("dist", flag.ContinueOnError)
	var o options
	fs.StringVar(&o.commit, "commit", "HEAD", "`COMMIT` or tag that is released")
	fs.StringVar(&o.out, "out", "dist", "`FOLDER` for the release")
	fs.StringVar(&o.key, "key", "", "minisign secret key `FILE` that signs; MINISIGN_PASSWORD opens it")
	fs.StringVar(&o.url, "url", "https://castalia.example/releases", "`URL` where releases will be; the install script begins there")
	fs.StringVar(&o.nfpm, "nfpm", ".bin/nfpm", "the `PROGRAM` that makes packages")
	fs.StringVar(&o.roots, "roots", "/etc/ssl/certs/ca-certificates.crt", "`FILE` with the roots of trust of the images")
	chosen := fs.String("platforms", platforms, "comma `LIST` of what is built")
	if err := fs.Parse(args); err != nil {
		return err
	}
	for name := range strings.SplitSeq(*chosen, ",") {
		system, machine, ok := strings.Cut(name, "/")
		if !ok {
			return fmt.Errorf("platform %q: expected a system and a machine, such as linux/amd64", name)
		}
		o.targets = append(o.targets, target{system: system, machine: machine})
	}
	if left, err := os.ReadDir(o.out); err == nil && len(left) > 0 {
		return fmt.Errorf("%s is not empty: a release is made in a folder of its own", o.out)
	}
	work, err := os.MkdirTemp("", "castalia-dist-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	r, err := build(ctx, o, work, log)
	if err != nil {
		return err
	}
	r.tell("packing %s of %s", r.version, r.when.Format("2006-01-02"))
	return r.pack(ctx, o)
}

// release is what was built, and where it goes.
type release struct {
	stamp

	source  string // a clone of the commit
	out     string
	targets []target // with their programs
	log     io.Writer
}

// target is one platform. System and machine are Go's words.
type target struct{ system, machine, program string }

// executable is what the program is called there.
func (t target) executable() string {
	if t.system == "windows" {
		return "castalia.exe"
	}
	return "castalia"
}

func (t target) String() string { return t.system + "_" + t.machine }

func (r *release) tell(format string, args ...any) {
	_, _ = fmt.Fprintf(r.log, "dist: "+format+"\n", args...)
}

// file is the path of a file of the release.
func (r *release) file(name string) string { return filepath.Join(r.out, name) }

// pack writes every file of the release from what was built.
func (r *release) pack(ctx context.Context, o options) error {
	if err := os.MkdirAll(r.out, 0o755); err != nil { //nolint:gosec // a release is for everybody
		return err
	}
	signer, err := readSigner(o.key)
	if err != nil {
		return err
	}
	if err := r.writeChangelog(); err != nil {
		return err
	}
	for _, t := range r.targets {
		if err := r.writeArchive(t); err != nil {
			return fmt.Errorf("archive of %s: %w", t, err)
		}
		if err := r.writeNPMPlatform(t); err != nil {
			return fmt.Errorf("npm package of %s: %w", t, err)
		}
		if t.system != "linux" {
			continue
		}
		if err := r.writeImage(t, o.roots); err != nil {
			return fmt.Errorf("image of %s: %w", t, err)
		}
		if err := errors.Join(r.writePackage(ctx, o.nfpm, t, "deb"), r.writePackage(ctx, o.nfpm, t, "rpm")); err != nil {
			return fmt.Errorf("packages of %s: %w", t, err)
		}
	}
	for _, library := range libraries() {
		if err := r.writeNPMLibrary(library); err != nil {
			return fmt.Errorf("npm package of web/%s: %w", library, err)
		}
	}
	err = errors.Join(r.writeNPM(), r.writeDeployment(), r.writeInstaller(o.url, signer))
	if err != nil {
		return err
	}
	return r.writeSums(signer)
}
