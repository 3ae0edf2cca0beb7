package cli_test

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestHelpExplainsOneCommand(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"help", "serve"}, {"serve", "--help"}, {"serve", "-h"}, {"--help", "serve"}} {
		out, errs, code := run(t, nil, args...)
		if code != 0 || errs != "" || !strings.Contains(out, "start the server") || !strings.Contains(out, "usage: castalia serve") || !strings.Contains(out, "  --port N") {
			t.Errorf("%v: exit %d: %s%s", args, code, out, errs)
		}
	}
	for _, name := range []string{"serve", "key", "ucan", "cid", "fs", "chat", "mcp", "chain", "dial", "menu", "ussd", "operator", "config", "migrate", "doctor", "rotate-keys", "backup", "restore", "version"} {
		if out, errs, code := run(t, nil, "help", name); code != 0 || errs != "" || !strings.Contains(out, "usage: castalia "+name) {
			t.Errorf("help %s: exit %d: %s%s", name, code, out, errs)
		}
	}
	if out, _, code := run(t, nil, "fs", "put", "--help"); code != 0 || !strings.Contains(out, "--key FILE") {
		t.Errorf("fs put --help: exit %d: %s", code, out)
	}
	if out, _, _ := run(t, nil, "help", "ucan"); !strings.Contains(out, "--everything-of") {
		t.Errorf("help ucan: %s", out)
	}
	if _, errs, code := run(t, nil, "help", "srve"); code != 2 || !strings.Contains(errs, "did you mean serve?") {
		t.Errorf("help srve: exit %d: %s", code, errs)
	}
}

// A slip costs one line: what was wrong, and where to look.
func TestASlipCostsOneLine(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"srve":                `castalia: no command "srve"; did you mean serve? ` + "`castalia help` lists them",
		"zebra":               `castalia: no command "zebra"; ` + "`castalia help` lists them",
		"serve --prot 1":      "castalia serve: no flag --prot; did you mean --port?; see `castalia help serve`",
		"config --nope":       "castalia config: no flag --nope; see `castalia help config`",
		"config extra":        `castalia config: unexpected argument "extra"; see ` + "`castalia help config`",
		"fs":                  "castalia fs: expected one of put, get, sync, ls, stat, cids, search, cat, mkdir, rm, mv, cp, export, import, versions, restore, trash, share; see `castalia help fs`",
		"fs lst":              `castalia fs: no subcommand "lst"; did you mean ls?; see ` + "`castalia help fs`",
		"fs ls a b":           "castalia fs: expected at most one path; see `castalia help fs`",
		"key shwo":            `castalia key: no subcommand "shwo"; did you mean show?; see ` + "`castalia help key`",
		"ucan verify":         "castalia ucan: expected one token (the text, @FILE or -); see `castalia help ucan`",
		"serve --set novalue": "castalia serve: invalid value \"novalue\" for flag -set: expected NAME=value; see `castalia help serve`",
	} {
		out, errs, code := run(t, nil, strings.Fields(line)...)
		if code != 2 || out != "" || strings.TrimSuffix(errs, "\n") != want {
			t.Errorf("%s: exit %d\n%s%swant\n%s", line, code, out, errs, want)
		}
	}
}

func TestTheVersionTellsCommitAndDate(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"version", "--version", "-v"} {
		out, _, code := run(t, nil, name)
		for _, want := range []string{"castalia ", "\ncommit ", "\ndate ", "\nbuilt    go1."} {
			if code != 0 || !strings.Contains("\n"+out, want) {
				t.Errorf("%s: exit %d: no %q in %s", name, code, want, out)
			}
		}
	}
}

// The commands that a banner shows reach the server that printed it.
func TestTheBannerNamesItsOwnPort(t *testing.T) {
	t.Parallel()
	s := serve(t, filepath.Join(t.TempDir(), "data"))
	address := addressIn(t, s.out.String())
	for _, want := range []string{"castalia dial --server " + address + " '*2233#'", "castalia chat --server " + address, "castalia fs ls --server " + address} {
		if !strings.Contains(s.out.String(), want) {
			t.Errorf("no %q in %s", want, s.out)
		}
	}
}
