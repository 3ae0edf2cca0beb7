package ussddialect

import (
	"embed"
	"fmt"
	"os"
	"strings"
)

//go:embed shipped/*.yaml
var shipped embed.FS

// Load returns the dialects that Castalia ships, and then those of the files. A
// file may take the name of a shipped one, and its place.
func Load(files []string) ([]*Dialect, error) {
	entries, err := shipped.ReadDir("shipped")
	if err != nil {
		return nil, fmt.Errorf("list shipped dialects: %w", err)
	}
	var all []*Dialect
	for _, entry := range entries {
		text, err := shipped.ReadFile("shipped/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read shipped dialect: %w", err)
		}
		d, err := Parse(entry.Name(), text)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	own := map[string]string{}
	for _, file := range files {
		d, err := ReadFile(file)
		if err != nil {
			return nil, err
		}
		if other, twice := own[d.Name()]; twice {
			return nil, fmt.Errorf("%s and %s both have the name %q", other, file, d.Name())
		}
		own[d.Name()] = file
		all = replaced(all, d)
	}
	return all, nil
}

func replaced(all []*Dialect, d *Dialect) []*Dialect {
	for i, other := range all {
		if other.Name() == d.Name() {
			all[i] = d
			return all
		}
	}
	return append(all, d)
}

// ReadFile reads the dialect of one file.
func ReadFile(file string) (*Dialect, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read dialect: %w", err)
	}
	return Parse(file, text)
}

// Names lists the names of dialects.
func Names(all []*Dialect) []string {
	names := make([]string, 0, len(all))
	for _, d := range all {
		names = append(names, d.Name())
	}
	return names
}

// Shipped returns the file of a dialect that Castalia ships, to start from.
func Shipped(name string) ([]byte, error) {
	text, err := shipped.ReadFile("shipped/" + name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("no dialect %q is shipped as a file: there are %s", name, strings.Join(shippedNames(), ", "))
	}
	return text, nil
}

func shippedNames() (names []string) {
	files, _ := shipped.ReadDir("shipped") // a folder of the program itself
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	return names
}
