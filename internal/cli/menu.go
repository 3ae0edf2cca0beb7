package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdbook"
	"github.com/castalia-org/castalia/internal/service/ussd/ussddialect"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdeditor"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdlist"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdscript"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
)

func menuCommand() command {
	return command{
		name: "menu", args: "check|format|graph|test|show [--json] [--write] [--menu FILE] [--limit LIMIT] [--code CODE] FILE…",
		summary: "validate, format, draw (Mermaid) and script-test a USSD menu", run: runMenu,
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
	code := fs.String("code", "", "service `CODE` whose menu is drawn; default is the menu of codes that have none of their own")
	write := fs.Bool("write", false, "write the formatted text back to its file")
	files, err := shell.ParseMixed(fs, args[1:])
	if err != nil {
		return err
	}
	dialects, err := ussddialect.Load(strings.FieldsFunc(s.Getenv("USSD_DIALECTS"), func(r rune) bool {
		return r == ',' || r == ' '
	}))
	if err != nil {
		return fmt.Errorf("USSD_DIALECTS: %w", err)
	}
	limits, err := ussd.ParseLimits(*size, ussddialect.Names(dialects)...)
	if err != nil {
		return shell.Usagef("--limit: %v", err)
	}
	switch verb {
	case "check":
		return menuCheck(ctx, files, limits, *asJSON, s)
	case "format":
		return menuFormat(ctx, files, *write, s)
	case "graph":
		return menuGraph(ctx, files, *code, *asJSON, s)
	case "test":
		return menuTest(ctx, files, *menu, limits, s)
	case "show":
		_, err := s.Out.Write(ussd.DefaultMenuSource())
		return err
	}
	return shell.NoSubcommand(args, menuVerbs()...)
}

func menuVerbs() []string { return []string{"check", "format", "graph", "test", "show"} }

// readMenus reads a menu file; "" is the built-in menu.
func readMenus(ctx context.Context, file string, limits ussdmenu.Limits) (*ussdbook.Book, error) {
	if file == "" {
		m, err := ussd.DefaultMenu()
		if err != nil {
			return nil, err
		}
		return ussdbook.Of(m), nil
	}
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read menu: %w", err)
	}
	return ussd.ParseMenus(ctx, file, source, limits)
}

func menuCheck(ctx context.Context, files []string, limits ussdmenu.Limits, asJSON bool, s shell.IO) error {
	if len(files) == 0 {
		files = []string{""}
	}
	issues := []ussdmenu.Issue{}
	for _, file := range files {
		menus, err := readMenus(ctx, file, limits)
		if refused, ok := errors.AsType[*ussdmenu.CheckError](err); ok {
			issues = append(issues, refused.Issues...)
			continue
		}
		if err != nil {
			return err
		}
		for _, m := range menus.Menus() {
			if !asJSON {
				_, _ = fmt.Fprintf(s.Out, "%s: ok, %s in %s, version %s\n", title(file, m),
					shell.Count(len(m.Screens()), "screen"), shell.Count(len(m.Languages()), "language"), m.Version())
			}
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

// menuFormat writes menus in the form in which the console's editor exports them.
func menuFormat(ctx context.Context, files []string, write bool, s shell.IO) error {
	if len(files) == 0 {
		return shell.Usagef("name the menu files")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read menu: %w", err)
		}
		formatted, err := ussdeditor.Format(ctx, text)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if !write {
			_, err = s.Out.Write(formatted)
		} else if !bytes.Equal(text, formatted) {
			err = os.WriteFile(file, formatted, 0o600) // one that is there keeps its mode
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// title names a menu of a file: one for some codes by these.
func title(file string, m *ussdmenu.Menu) string {
	return strings.Join(append([]string{cmp.Or(file, "built-in menu")}, m.Codes()...), " ")
}

func menuGraph(ctx context.Context, files []string, code string, asJSON bool, s shell.IO) error {
	file := ""
	switch len(files) {
	case 0:
	case 1:
		file = files[0]
	default:
		return shell.Usagef("graph takes one menu")
	}
	room, err := ussd.ParseLimits(strconv.Itoa(ussdmenu.MaxSeptets))
	if err != nil {
		return err
	}
	menus, err := readMenus(ctx, file, room)
	if err != nil {
		return err
	}
	m := menus.For(code)
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
		menus, err := readMenus(ctx, of, limits)
		if err != nil {
			return err
		}
		lists := cmp.Or(s.Getenv("USSD_LISTS"), filepath.Dir(of))
		for _, flow := range flows.Flows {
			played++
			if err := playLocal(ctx, flows, flow, menus, lists, limits); err != nil {
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
func playLocal(ctx context.Context, file *ussdscript.File, flow ussdscript.Flow, menus *ussdbook.Book, lists string,
	limits ussdmenu.Limits,
) (err error) {
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
	cfg := ussd.Config{
		Keys: keys, Menus: menus, Limits: limits, PINCost: ussdpin.Cost{Time: 1, MemoryKiB: 64},
		Lists: ussdlist.NewFolder(lists, time.Now),
	}
	flow.Configure(&cfg)
	svc, err := ussd.New(ussdsql.New(db), cfg)
	if err != nil {
		return err
	}
	return file.Run(ctx, flow, ussdscript.Local{Service: svc}, nil)
}
