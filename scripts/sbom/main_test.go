package main

import (
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEverythingThatIsLinkedIsListed(t *testing.T) {
	t.Parallel()
	info := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Path: "example.org/us", Version: "v1.0.0"}, Deps: []*debug.Module{
		{Path: "example.org/b", Version: "v1.2.3", Sum: "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="},
		{Path: "example.org/a", Version: "v0.1.0", Replace: &debug.Module{Path: "example.org/fork", Version: "v0.2.0"}},
	}}
	lock := `{"packages": {"": {"version": "0.0.0"}, "client": {"version": "1.0.0"}, "node_modules/@castalia/client": {"link": true},
		"node_modules/react": {"version": "19.0.0", "integrity": "sha512-AAAA", "license": "MIT"}, "node_modules/a/node_modules/@x/y": {"version": "2.0.0", "dev": true, "license": "(MIT OR CC0-1.0)"}}}`
	licences := func(module string) string { return map[string]string{"example.org/a": "Apache-2.0"}[module] }
	b, err := assemble(info, []byte(lock), licences)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range b.Components {
		got[c.Ref] = c.Scope
		for _, t := range c.Terms {
			if t.License != nil {
				got[c.Ref] += " " + t.License.ID
			}
			got[c.Ref] += t.Expression
		}
	}
	want := map[string]string{
		"pkg:golang/std@1.26.8": " BSD-3-Clause", "pkg:golang/example.org/b@v1.2.3": "", "pkg:golang/example.org/fork@v0.2.0": " Apache-2.0",
		"pkg:npm/react@19.0.0": "required MIT", "pkg:npm/%40x/y@2.0.0": "excluded(MIT OR CC0-1.0)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(b.Depends) != 1 || len(b.Depends[0].On) != len(want) || b.Metadata.Component.Name != "example.org/us" {
		t.Errorf("%+v", b)
	}
	if _, err := assemble(info, []byte("no JSON"), licences); err == nil {
		t.Error("a broken lock file was taken")
	}
}

func TestLicencesAreToldByTheirText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Apache License\n   Version 2.0, January 2004":                                                                             "Apache-2.0",
		"Permission is hereby granted, free of charge, to any person … The above copyright\nnotice":                                "MIT",
		"Redistribution and use in source and binary forms … must retain the above copyright … may be used to endorse or\npromote": "BSD-3-Clause",
		"Redistribution and use in source and binary forms … must retain the above copyright":                                      "BSD-2-Clause",
		"Permission to use, copy, modify, and/or distribute … with or without fee":                                                 "ISC",
		"Mozilla Public License Version 2.0":                                                                                       "MPL-2.0",
		"All rights reserved.":                                                                                                     "",
	} {
		if got := licenceOfText(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	if got := licenceIn("../.."); got != "Apache-2.0" {
		t.Errorf("our own licence is %q", got)
	}
	if got := licenceIn(t.TempDir() + "/none"); got != "" {
		t.Errorf("a folder that is not there has licence %q", got)
	}
}
