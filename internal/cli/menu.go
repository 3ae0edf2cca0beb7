package cli

import (
	"cmp"
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
		name: "menu", args: "check|graph|test|show [--json] [--menu FILE] [--limit LIMIT] FILE…",
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
	size := fs.String("limit", cmp.Or(s.Getenv("USSD_SCREEN_LIMIT"), "160"), "septets that networks show, as USSD_SCREEN_LIMIT has them: `LIMIT` such as 160,africastalking=182,*384#=140")
	files, err := shell.ParseMixed(fs, args[1:])
	if err != nil {
		return err
	}
	limits, err := ussd.ParseLimits(*size)
	if err != nil {
		return shell.Usagef("--limit: %v", err)
	}
	switch verb {
	case "check":
		return menuCheck(files, limits, *asJSON, s)
	case "graph":
		return menuGraph(files, *asJSON, s)
	case "test":
		return menuTest(ctx, files, *menu, limits, s)
	case "show":
		_, err := s.Out.Write(ussd.DefaultMenuSource())
		return err
	}
	return shell.NoSubcommand(args, menuVerbs()...)
}

func menuVerbs() []string { return []string{"check", "graph", "test", "show"} }

// readMenu reads a menu file; "" is the built-in menu.
func readMenu(file string, least ussdmenu.Limit) (*ussdmenu.Menu, error) {
	if file == "" {
		return ussd.DefaultMenu()
	}
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read menu: %w", err)
	}
	return ussd.ParseMenu(file, source, least)
}

func menuCheck(files []string, limits ussdmenu.Limits, asJSON bool, s shell.IO) error {
	if len(files) == 0 {
		files = []string{""}
	}
	issues := []ussdmenu.Issue{}
	for _, file := range files {
		m, err := readMenu(file, limits.Least())
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
	m, err := readMenu(file, ussdmenu.Message()) // a drawing has room
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
func menuTest(ctx context.Context, files []string, menu string, limits ussdmenu.Limits, s shell.IO) error {
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
			if err := playLocal(ctx, flows, flow, of, limits); err != nil {
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
func playLocal(ctx context.Context, file *ussdscript.File, flow ussdscript.Flow, menuFile string, limits ussdmenu.Limits) (err error) {
	m, err := readMenu(menuFile, limits.Least())
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
		Keys: keys, Menu: m, Limits: limits, PINCost: ussdpin.Cost{Time: 1, MemoryKiB: 64},
		Oracle: ussdscript.StandIn{Flow: flow}, LookUp: ussdscript.StandIn{Flow: flow},
	})
	if err != nil {
		return err
	}
	return file.Run(ctx, flow, ussdscript.Local{Service: svc}, nil)
}
