package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"

	"github.com/castalia-org/castalia/internal/app"
	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/service/query/localchain"
)

func chainCommand() command {
	return command{
		name: "chain", args: "import [--data FOLDER] FILE… | list [--data FOLDER] [--json]",
		summary: "seed data of the embedded query node", run: runChain,
	}
}

func runChain(ctx context.Context, args []string, s shell.IO) error {
	switch name, rest := shell.CutFirst(args); name {
	case "import":
		return runChainImport(ctx, rest, s)
	case "list":
		return runChainList(ctx, rest, s)
	}
	return shell.NoSubcommand(args, "import", "list")
}

// runChainImport merges seed files, or replies of a chain's own gateway, into
// the seed. A running server takes the change over with its next block.
func runChainImport(ctx context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("chain import", s)
	var from settingFlags
	from.register(fs, s)
	files, err := shell.ParseMixed(fs, args)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return shell.Usagef("expected files to import; - is standard input")
	}
	seed, err := seedFile(&from, s)
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := shell.ReadInput(file, s)
		if err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		change, err := localchain.Import(ctx, seed, []byte(text))
		if err != nil {
			return fmt.Errorf("import %s: %w", file, err)
		}
		for _, warning := range change.Warnings {
			_, _ = fmt.Fprintf(s.Err, "%s: %s; left out\n", file, warning)
		}
		_, _ = fmt.Fprintf(s.Out, "%s: %d added, %d replaced in %s\n", file, change.Added, change.Replaced, seed)
	}
	_, err = fmt.Fprintln(s.Out, "A running server shows them within a few seconds. `castalia chain list` lists what is there.")
	return err
}

// seedFile is where the embedded node keeps its seed, in a data folder that a
// server made.
func seedFile(from *settingFlags, s shell.IO) (string, error) {
	settings, _, err := from.load(s)
	if err != nil {
		return "", err
	}
	return filepath.Join(settings.Storage.Data, localchain.SeedFile), app.CheckFolder(settings)
}

func runChainList(ctx context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("chain list", s)
	var from settingFlags
	from.register(fs, s)
	asJSON := fs.Bool("json", false, "print whole records, one JSON object a line")
	if err := shell.ParseFlags(fs, args); err != nil {
		return err
	}
	seed, err := seedFile(&from, s)
	if err != nil {
		return err
	}
	records, err := localchain.List(ctx, seed)
	if err != nil {
		return err
	}
	if *asJSON {
		out := json.NewEncoder(s.Out)
		for _, r := range records {
			if err := out.Encode(r); err != nil {
				return fmt.Errorf("print record: %w", err)
			}
		}
		return nil
	}
	if len(records) == 0 {
		_, err := fmt.Fprintf(s.Out, "No records in %s. The oracle's own entity is registered by the server itself.\n", seed)
		return err
	}
	return printRecords(s.Out, records)
}

func printRecords(w io.Writer, records []localchain.Listed) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range records {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", r.Table, r.Key, r.Title)
	}
	return table.Flush()
}
