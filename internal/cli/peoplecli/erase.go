package peoplecli

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
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
	lost, err := lostOf(name)
	if err != nil {
		return fmt.Errorf("read %s again: %w", name, err)
	}
	has := "has all that is kept of them"
	if len(lost.Conversations) > 0 {
		has = fmt.Sprintf("has what is kept of them but %d archived conversations that the archive has lost", len(lost.Conversations))
	}
	if len(lost.Files) > 0 {
		has = "has what is kept of them as far as it is there"
	}
	_, _ = fmt.Fprintf(d.io.Out, "%s %s (%s): tar -tzf %s lists it. It is as private as they are.\n", name, has, bytesize.Text(n), name)
	if err := d.printLost(lost.Conversations); err != nil || len(lost.Files) == 0 {
		return err
	}
	_, _ = fmt.Fprintln(d.io.Out, "\nFiles whose stored content is damaged:")
	for _, f := range lost.Files {
		_, _ = fmt.Fprintf(d.io.Out, "  %q %s\n", f.Path, goodOf(f))
	}
	return fmt.Errorf("the export is not whole: %d files are damaged; a backup may still have them", len(lost.Files))
}

// goodOf says what an export has of a damaged file.
func goodOf(f people.DamagedFile) string {
	if f.Good == 0 {
		return "is not in the export"
	}
	return fmt.Sprintf("has its first %d bytes, and zeros for the other %d", f.Good, f.Size-f.Good)
}

// printLost names conversations that the archive has lost.
func (d *desk) printLost(lost []string) (err error) {
	if len(lost) == 0 {
		return nil
	}
	_, _ = fmt.Fprintln(d.io.Out, "\nConversations that the archive had lost before:")
	for _, id := range lost {
		_, err = fmt.Fprintf(d.io.Out, "  %s\n", id)
	}
	return err
}

// maxLost bounds what is read of the list of what an export lacks.
const maxLost = 64 << 20

// lostOf reads an export to its end, so that one that is not whole is noticed, and returns
// what it lacks.
func lostOf(name string) (lost people.Lost, err error) {
	f, err := os.Open(name)
	if err != nil {
		return lost, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	plain, err := gzip.NewReader(f)
	if err != nil {
		return lost, err
	}
	for all := tar.NewReader(plain); ; {
		h, err := all.Next()
		if errors.Is(err, io.EOF) {
			return lost, nil
		}
		if err != nil {
			return lost, err
		}
		if h.Name != people.LostName {
			continue
		}
		if err := json.NewDecoder(io.LimitReader(all, maxLost)).Decode(&lost); err != nil {
			return lost, fmt.Errorf("%s: %w", h.Name, err)
		}
	}
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
	erased, lost, unseen, unrevoked := map[string]int64{}, []string(nil), int64(0), []string(nil)
	for {
		var receipt people.Receipt
		sure := people.NewErasure{Confirm: d.confirm}
		if err := d.Ask(ctx, http.MethodPost, "/"+url.PathEscape(did)+"/erase", sure, &receipt); err != nil {
			return err
		}
		for name, n := range receipt.Erased {
			erased[name] += n
		}
		lost, unseen = append(lost, receipt.Lost...), unseen+receipt.Unseen
		unrevoked = append(unrevoked, receipt.Unrevoked...)
		if receipt.Lost, receipt.Unseen, receipt.Unrevoked = lost, unseen, unrevoked; receipt.Done {
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
	_ = d.printLost(r.Lost)
	if r.Unseen > 0 {
		_, _ = fmt.Fprintf(d.io.Out, "\nOf %d archived conversations nobody looked whether the archive still had them: it did not answer in time. They are erased all the same.\n", r.Unseen)
	}
	if len(r.Unrevoked) > 0 {
		_, _ = fmt.Fprintln(d.io.Out, "\nForgotten here, and not revoked elsewhere:")
		for _, text := range r.Unrevoked {
			_, _ = fmt.Fprintf(d.io.Out, "  %s\n", text)
		}
	}
	_, _ = fmt.Fprintln(d.io.Out, "\nWhat stays:")
	for _, text := range r.Stays {
		_, _ = fmt.Fprintf(d.io.Out, "  %s\n", text)
	}
	return err
}
