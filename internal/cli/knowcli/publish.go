package knowcli

import (
	"context"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgehttp"
)

// runPublish publishes collections as an operator, or lists what could be.
func runPublish(ctx context.Context, args []string, s shell.IO) error {
	r, ids, err := operatorArgs(ctx, "knowledge publish", args, s)
	if err != nil {
		return err
	}
	all, err := r.Offered(ctx)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		table := tabwriter.NewWriter(s.Out, 0, 4, 2, ' ', 0)
		for _, c := range all {
			state := "waiting"
			if c.Published {
				state = "published"
			}
			_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", c.ID, state, c.Readers, shell.OneLine(c.Name), shell.OneLine(c.Folder), c.Namespace)
		}
		return table.Flush()
	}
	for _, id := range ids {
		i := slices.IndexFunc(all, func(c knowledgehttp.OfferedEntry) bool { return c.ID == id })
		if i < 0 {
			return fmt.Errorf("there is no collection %q for everybody or members", id)
		}
		if err := r.Publish(ctx, id, all[i].Readers); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(s.Out, "%s: published to %s\n", shell.OneLine(all[i].Name), all[i].Readers)
	}
	return nil
}

// runUnpublish takes consents back.
func runUnpublish(ctx context.Context, args []string, s shell.IO) error {
	r, ids, err := operatorArgs(ctx, "knowledge unpublish", args, s)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return shell.Usagef("expected ids of collections, as `castalia knowledge publish` lists them")
	}
	for _, id := range ids {
		if err := r.Unpublish(ctx, id); err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		_, _ = fmt.Fprintf(s.Out, "%s: not published any more\n", id)
	}
	return nil
}

func operatorArgs(ctx context.Context, name string, args []string, s shell.IO) (remote, []string, error) {
	fs := shell.NewFlags(name, s)
	open := remoteFlags(fs, s)
	ids, err := shell.ParseMixed(fs, args)
	if err != nil {
		return remote{}, nil, err
	}
	r, err := open(ctx)
	return r, ids, err
}
