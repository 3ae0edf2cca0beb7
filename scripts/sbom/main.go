// Command sbom writes the bill of materials of the program as CycloneDX 1.6 JSON:
// the Go modules that are really linked into the binary, with their hashes, and
// the npm packages that the console and the client library are built from.
//
//	go run ./scripts/sbom bin/castalia > bin/castalia.cdx.json
//
// The same inputs are the same bytes: no time, no random serial number. npm
// packages declare their licence; that of a Go module is told from the text of
// its licence file in the module cache, and left out when it is none of the
// usual ones.
package main

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime/debug"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1) //nolint:forbidigo // a program of its own
	}
}

type bom struct {
	Format     string       `json:"bomFormat"`
	Spec       string       `json:"specVersion"`
	Version    int          `json:"version"`
	Metadata   metadata     `json:"metadata"`
	Components []component  `json:"components"`
	Depends    []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Scope   string `json:"scope,omitempty"`
	PURL    string `json:"purl,omitempty"`
	Hashes  []hash `json:"hashes,omitempty"`
	Terms   []term `json:"licenses,omitempty"`
}

// term is a licence by its SPDX identifier, or several by an expression.
type term struct {
	License    *license `json:"license,omitempty"`
	Expression string   `json:"expression,omitempty"`
}

type license struct {
	ID string `json:"id"`
}

// terms returns how CycloneDX says it.
func terms(spdx string) []term {
	switch {
	case spdx == "":
		return nil
	case strings.ContainsAny(spdx, " ("):
		return []term{{Expression: spdx}}
	}
	return []term{{License: &license{spdx}}}
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type dependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn"`
}

func run(args []string, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("want the program's file")
	}
	info, err := buildinfo.ReadFile(args[0])
	if err != nil {
		return err
	}
	lock, err := os.ReadFile("web/package-lock.json")
	if err != nil {
		return err
	}
	modules, err := moduleFolders()
	if err != nil {
		return err
	}
	b, err := assemble(info, lock, func(module string) string { return licenceIn(modules[module]) })
	if err != nil {
		return err
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(b)
}

func assemble(info *debug.BuildInfo, lock []byte, licenceOf func(module string) string) (bom, error) {
	main := component{Type: "application", Ref: info.Main.Path, Name: info.Main.Path, Version: info.Main.Version}
	b := bom{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{main}}
	goVersion := strings.TrimPrefix(info.GoVersion, "go")
	b.Components = append(b.Components, component{
		Type: "platform", Ref: "pkg:golang/std@" + goVersion, Name: "std", Version: goVersion, PURL: "pkg:golang/std@" + goVersion,
		Terms: terms("BSD-3-Clause"),
	})
	for _, m := range info.Deps {
		asked := m.Path
		if m.Replace != nil {
			m = m.Replace
		}
		purl := "pkg:golang/" + m.Path + "@" + m.Version
		c := component{Type: "library", Ref: purl, Name: m.Path, Version: m.Version, PURL: purl, Terms: terms(licenceOf(asked))}
		// go.sum's h1 is a SHA-256 over the list of the files' hashes.
		if raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(raw) == 32 {
			c.Hashes = []hash{{"SHA-256", hex.EncodeToString(raw)}}
		}
		b.Components = append(b.Components, c)
	}
	npm, err := packages(lock)
	if err != nil {
		return b, err
	}
	b.Components = append(b.Components, npm...)
	slices.SortFunc(b.Components, func(x, y component) int { return cmp.Compare(x.Ref, y.Ref) })
	b.Components = slices.CompactFunc(b.Components, func(x, y component) bool { return x.Ref == y.Ref })
	all := dependency{Ref: main.Ref}
	for _, c := range b.Components {
		all.On = append(all.On, c.Ref)
	}
	b.Depends = []dependency{all}
	return b, nil
}

// packages reads npm's lock file. What is for building and testing only is
// marked as excluded: it is not shipped.
func packages(lock []byte) ([]component, error) {
	var file struct {
		Packages map[string]struct {
			Version, Integrity, License string
			Dev, Link                   bool
		}
	}
	if err := json.NewDecoder(bytes.NewReader(lock)).Decode(&file); err != nil {
		return nil, fmt.Errorf("web/package-lock.json: %w", err)
	}
	var out []component
	for place, p := range file.Packages {
		_, name, installed := cutLast(place, "node_modules/")
		if !installed || p.Link || p.Version == "" {
			continue // a workspace of our own
		}
		purl := "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + p.Version
		c := component{Type: "library", Ref: purl, Name: name, Version: p.Version, PURL: purl, Scope: "required", Terms: terms(p.License)}
		if p.Dev {
			c.Scope = "excluded"
		}
		if sum, ok := strings.CutPrefix(p.Integrity, "sha512-"); ok {
			if raw, err := base64.StdEncoding.DecodeString(sum); err == nil {
				c.Hashes = []hash{{"SHA-512", hex.EncodeToString(raw)}}
			}
		}
		out = append(out, c)
	}
	return out, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], path.Clean(s[i+len(sep):]), true
}
