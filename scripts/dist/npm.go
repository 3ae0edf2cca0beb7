package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// npmPackage is a package.json.
type npmPackage struct {
	Name        string            `json:"name"`
	Version     string            `json:"version"`
	Description string            `json:"description"`
	License     string            `json:"license"`
	Bin         map[string]string `json:"bin,omitempty"`
	Engines     map[string]string `json:"engines,omitempty"`
	OS          []string          `json:"os,omitempty"`
	CPU         []string          `json:"cpu,omitempty"`
	Files       []string          `json:"files"`
	Optional    map[string]string `json:"optionalDependencies,omitempty"`
}

// npmNames returns what Node calls a platform.
func (t target) npmNames() (system, machine string) {
	system, machine = t.system, t.machine
	if system == "windows" {
		system = "win32"
	}
	if machine == "amd64" {
		machine = "x64"
	}
	return system, machine
}

func (t target) npmName() string {
	system, machine := t.npmNames()
	return "@castalia/" + system + "-" + machine
}

// writeNPMPlatform writes the package with the program of one platform. npm
// installs the one that fits, since the others name another system.
func (r *release) writeNPMPlatform(t target) error {
	system, machine := t.npmNames()
	return r.writeNPMPackage(npmPackage{
		Name: t.npmName(), Description: "The program castalia for " + system + " on " + machine,
		OS: []string{system}, CPU: []string{machine}, Files: []string{"bin"},
	}, entry{name: "package/bin/" + t.executable(), mode: 0o755, from: t.program})
}

// writeNPM writes the package castalia, which starts the program that npm chose.
func (r *release) writeNPM() error {
	p := npmPackage{
		Name: "castalia", Description: "A community's own oracle in one program: npx castalia serve",
		Bin: map[string]string{"castalia": "castalia.js"}, Engines: map[string]string{"node": ">=18"}, Files: []string{"castalia.js"},
		Optional: make(map[string]string),
	}
	for _, t := range r.targets {
		p.Optional[t.npmName()] = r.version
	}
	folder := filepath.Join(r.source, "deploy", "npm")
	return r.writeNPMPackage(p,
		entry{name: "package/castalia.js", mode: 0o755, from: filepath.Join(folder, "castalia.js")},
		entry{name: "package/README.md", mode: 0o644, from: filepath.Join(folder, "README.md")})
}

func (r *release) writeNPMPackage(p npmPackage, files ...entry) error {
	p.Version, p.License = r.version, "Apache-2.0"
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	files = append([]entry{
		{name: "package/package.json", mode: 0o644, text: string(text) + "\n"},
		{name: "package/LICENSE", mode: 0o644, from: filepath.Join(r.source, "LICENSE")},
	}, files...)
	content, err := tgz(r.when, files)
	if err != nil {
		return err
	}
	name := strings.ReplaceAll(strings.TrimPrefix(p.Name, "@"), "/", "-")
	return writeFile(r.file(fmt.Sprintf("npm-%s-%s.tgz", name, p.Version)), string(content))
}

// libraries are the packages for pages, by their folders in web; fragments of the changelog
// that are about one begin with its name.
func libraries() []string { return []string{"client", "ui"} }

// writeNPMLibrary writes what `npm pack` would, with the commit's time and its changelog. A
// library has its own version: what pages are made of changes at another pace than what they
// talk to.
func (r *release) writeNPMLibrary(library string) error {
	folder := filepath.Join(r.source, "web", library)
	text, err := os.ReadFile(filepath.Join(folder, "package.json"))
	if err != nil {
		return err
	}
	var p npmPackage
	if err := json.Unmarshal(text, &p); err != nil {
		return fmt.Errorf("read package.json: %w", err)
	}
	log, err := r.changelogOf(p.Name+" "+p.Version, func(name string) bool { return strings.HasPrefix(name, library+"-") })
	if err != nil {
		return err
	}
	entries := []entry{{name: "package/" + changelogFile, mode: 0o644, text: log}}
	for _, name := range append(p.Files, "package.json", "README.md", "LICENSE") {
		err := filepath.WalkDir(filepath.Join(folder, name), func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				var inside string
				inside, err = filepath.Rel(folder, path)
				entries = append(entries, entry{name: "package/" + filepath.ToSlash(inside), mode: 0o644, from: path})
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	content, err := tgz(r.when, entries)
	if err != nil {
		return err
	}
	name := strings.TrimPrefix(p.Name, "@castalia/")
	return writeFile(r.file(fmt.Sprintf("npm-%s-%s.tgz", name, p.Version)), string(content))
}

// writeDeployment writes what a fleet is started with, for images of this version.
func (r *release) writeDeployment() error {
	folder := filepath.Join(r.source, "deploy")
	var entries []entry
	var missing error
	for _, f := range []struct {
		name string
		mode int64
	}{
		{"castalia.service", 0o644},
		{"compose.yaml", 0o644},
		{"kubernetes/castalia.yaml", 0o644},
		{"monitoring/alerts.yaml", 0o644},
		{"monitoring/dashboard.json", 0o644},
		{"proxy.conf", 0o644},
		{"secrets", 0o755},
	} {
		text, err := os.ReadFile(filepath.Join(folder, f.name))
		missing = errors.Join(missing, err)
		entries = append(entries,
			entry{name: "deploy/" + f.name, mode: f.mode, text: strings.ReplaceAll(string(text), "castalia:latest", "castalia:"+r.version)})
	}
	if missing != nil {
		return missing
	}
	content, err := tgz(r.when, entries)
	if err != nil {
		return err
	}
	return writeFile(r.file(fmt.Sprintf("castalia_%s_deploy.tar.gz", r.version)), string(content))
}
