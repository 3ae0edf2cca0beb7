package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// moduleFolders says where the module cache keeps each module.
func moduleFolders() (map[string]string, error) {
	out, err := exec.CommandContext(context.Background(), "go", "list", "-m", "-json=Path,Dir,Replace", "all").Output()
	if err != nil {
		return nil, fmt.Errorf("list modules: %w", err)
	}
	folders := map[string]string{}
	for in := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct {
			Path, Dir string
			Replace   *struct{ Dir string }
		}
		if err := in.Decode(&m); errors.Is(err, io.EOF) {
			return folders, nil
		} else if err != nil {
			return nil, fmt.Errorf("read modules: %w", err)
		}
		if m.Dir == "" && m.Replace != nil {
			m.Dir = m.Replace.Dir
		}
		folders[m.Path] = m.Dir
	}
}

// licenceIn tells the licence of a module by the file in its folder.
func licenceIn(dir string) string {
	if dir == "" {
		return ""
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	for _, f := range files {
		name := strings.ToUpper(f.Name())
		if !f.Type().IsRegular() || !strings.HasPrefix(name, "LICEN") && !strings.HasPrefix(name, "COPYING") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			continue
		}
		if id := licenceOfText(string(text)); id != "" {
			return id
		}
	}
	return ""
}

// licenceOfText knows the licences of our kind of modules by sentences that only
// they have.
func licenceOfText(text string) string {
	words := strings.ToLower(strings.Join(strings.Fields(text), " "))
	has := func(parts ...string) bool {
		for _, p := range parts {
			if !strings.Contains(words, p) {
				return false
			}
		}
		return true
	}
	switch {
	case has("apache license", "version 2.0"):
		return "Apache-2.0"
	case has("mozilla public license", "2.0"):
		return "MPL-2.0"
	case has("permission is hereby granted, free of charge", "the above copyright notice"):
		return "MIT"
	case has("permission is hereby granted, free of charge", "mit no attribution"):
		return "MIT-0"
	case has("permission to use, copy, modify", "with or without fee"):
		return "ISC"
	case has("redistribution and use in source and binary forms", "may be used to endorse or promote"):
		return "BSD-3-Clause"
	case has("redistribution and use in source and binary forms", "must retain the above copyright"):
		return "BSD-2-Clause"
	case has("this is free and unencumbered software"):
		return "Unlicense"
	}
	return ""
}
