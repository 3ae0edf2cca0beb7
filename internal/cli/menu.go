package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdscript"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
)

func menuCommand() command {
	return command{
		name: "menu", args: "check|graph|test|show [--json] [--menu FILE] FILE…",
		summary: "validate, draw (Mermaid) and script-test a USSD menu", run: runMenu,
	}
}

func runMenu(ctx context.Context, args []string, s shell.IO) error {
	if len(args) == 0 {
		return shell.NoSubcommand(args, menuVerbs()...)
	}
	verb := args[0]
	fs := shell.NewFlags("menu "+verb, s)
	asJSON := fs.Bool("json", false, "print JSON")
	menu := fs.String("menu", "", "menu `FILE` that the flows are for; default is what each file names, or the built-in menu")
	files, err := shell.ParseMixed(fs, args[1:])
	if err != nil {
		return err
	}
	switch verb {
	case "check":
		return menuCheck(files, *asJSON, s)
	case "graph":
		return menuGraph(files, *asJSON, s)
	case "test":
		return menuTest(ctx, files, *menu, s)
	case "show":
		_, err := s.Out.Write(ussd.DefaultMenuSource())
		return err
	}
	return shell.NoSubcommand(args, menuVerbs()...)
}

func menuVerbs() []string { return []string{"check", "graph", "test", "show"} }

// readMenu reads a menu file; "" is the built-in menu.
func readMenu(file string) (*ussdmenu.Menu, error) {
	if file == "" {
		return ussd.DefaultMenu()
	}
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read menu: %w", err)
	}
	return ussd.ParseMenu(file, source)
}

func menuCheck(files []string, asJSON bool, s shell.IO) error {
	if len(files) == 0 {
		files = []string{""}
	}
	issues := []ussdmenu.Issue{}
	for _, file := range files {
		m, err := readMenu(file)
		if refused, ok := errors.AsType[*ussdmenu.CheckError](err); ok {
			issues = append(issues, refused.Issues...)
			continue
		}
		if err != nil {
			return err
		}
		if !asJSON {
			_, _ = fmt.Fprintf(s.Out, "%s: ok, %d screens in %d languages, version %s\n", name(file), len(m.Screens()), len(m.Languages()), m.Version())
		}
	}
	if asJSON {
		if err := printJSON(s.Out, issues); err != nil {
			return err
		}
	} else {
		for _, issue := range issues {
			_, _ = fmt.Fprintln(s.Out, issue)
		}
	}
	if len(issues) > 0 {
		return shell.ExitError(1)
	}
	return nil
}

func name(file string) string {
	if file == "" {
		return "built-in menu"
	}
	return file
}

func menuGraph(files []string, asJSON bool, s shell.IO) error {
	file := ""
	switch len(files) {
	case 0:
	case 1:
		file = files[0]
	default:
		return shell.Usagef("graph takes one menu")
	}
	m, err := readMenu(file)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(s.Out, m.Graph())
	}
	_, err = io.WriteString(s.Out, m.Graph().Mermaid())
	return err
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// menuTest plays flow files against menus, on a database that lasts as long as
// the command.
func menuTest(ctx context.Context, files []string, menu string, s shell.IO) error {
	if len(files) == 0 {
		return shell.Usagef("name the flow files")
	}
	failed, played := 0, 0
	for _, file := range files {
		flows, err := ussdscript.ReadFile(file)
		if err != nil {
			return err
		}
		of := menu
		if of == "" && flows.Menu != "" {
			of = filepath.Join(filepath.Dir(file), flows.Menu)
		}
		for _, flow := range flows.Flows {
			played++
			if err := playLocal(ctx, flows, flow, of); err != nil {
				if _, ok := errors.AsType[*ussdscript.StepError](err); !ok {
					return err
				}
				failed++
				_, _ = fmt.Fprintf(s.Out, "FAIL  %s: %v\n", file, err)
				continue
			}
			_, _ = fmt.Fprintf(s.Out, "ok    %s: %s, %d steps\n", file, flow.Name, len(flow.Steps))
		}
	}
	if failed > 0 {
		_, _ = fmt.Fprintf(s.Out, "%d of %d flows failed\n", failed, played)
		return shell.ExitError(1)
	}
	_, _ = fmt.Fprintf(s.Out, "all %d flows are answered as they should\n", played)
	return nil
}

// playLocal plays one flow on a fresh service.
func playLocal(ctx context.Context, file *ussdscript.File, flow ussdscript.Flow, menuFile string) (err error) {
	m, err := readMenu(menuFile)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "castalia-menu-")
	if err != nil {
		return fmt.Errorf("make a temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := sqldb.Open(ctx, "sqlite:"+filepath.Join(dir, "menu.db"), sqldb.Options{})
	if err != nil {
		return fmt.Errorf("open a temporary database: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Migrate(ctx, ussdsql.Migrations()); err != nil {
		return err
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	keys, err := ussdpin.NewKeys(key)
	if err != nil {
		return err
	}
	svc, err := ussd.New(ussdsql.New(db), ussd.Config{
		Keys: keys, Menu: m, PINCost: ussdpin.Cost{Time: 1, MemoryKiB: 64},
		Oracle: ussdscript.StandIn{Flow: flow}, LookUp: ussdscript.StandIn{Flow: flow},
	})
	if err != nil {
		return err
	}
	return file.Run(ctx, flow, ussdscript.Local{Service: svc}, nil)
}
