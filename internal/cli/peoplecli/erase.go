package peoplecli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/app/people"
	"github.com/castalia-org/castalia/internal/platform/bytesize"
)

// export writes all that is kept of somebody into a file.
func (d *desk) export(ctx context.Context, args []string) (err error) {
	resp, err := d.Send(ctx, http.MethodPost, "/"+url.PathEscape(args[0])+"/export", nil)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	name := d.out
	if name == "" {
		name = people.ExportName(args[0])
	}
	// Nobody else's, and never in the place of something else.
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write the export: %w; --out names another file", err)
	}
	n, err := io.Copy(f, resp.Body)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(fmt.Errorf("the export broke off: %w", err), os.Remove(name))
	}
	_, err = fmt.Fprintf(d.io.Out, "%s has all that is kept of them (%s): tar -tzf %s lists it. It is as private as they are.\n", name, bytesize.Text(n), name)
	return err
}

// erase destroys what is kept of somebody, request by request until nothing is left.
func (d *desk) erase(ctx context.Context, args []string) error {
	did := args[0]
	if d.confirm == "" {
		_, _ = fmt.Fprintf(d.io.Err, "This destroys all that is kept of %s, and cannot be taken back.\nTo keep a copy first: castalia people export %s\nType the last six characters of the DID to go on: ", did, did)
		line, err := bufio.NewReader(io.LimitReader(d.io.In, 1000)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read the confirmation: %w", err)
		}
		d.confirm = strings.TrimSpace(line)
	}
	erased := map[string]int64{}
	for {
		var receipt people.Receipt
		sure := people.NewErasure{Confirm: d.confirm}
		if err := d.Ask(ctx, http.MethodPost, "/"+url.PathEscape(did)+"/erase", sure, &receipt); err != nil {
			return err
		}
		for name, n := range receipt.Erased {
			erased[name] += n
		}
		if receipt.Done {
			return d.printReceipt(receipt, erased)
		}
		_, _ = fmt.Fprintln(d.io.Err, "There is more: going on.")
	}
}

func (d *desk) printReceipt(r people.Receipt, erased map[string]int64) error {
	_, err := fmt.Fprintf(d.io.Out, "%s was erased, and is blocked.\n\nErased:\n", r.DID)
	for _, name := range slices.Sorted(maps.Keys(erased)) {
		_, _ = fmt.Fprintf(d.io.Out, "  %d %s\n", erased[name], name)
	}
	_, _ = fmt.Fprintln(d.io.Out, "\nWhat stays:")
	for _, text := range r.Stays {
		_, _ = fmt.Fprintf(d.io.Out, "  %s\n", text)
	}
	return err
}
