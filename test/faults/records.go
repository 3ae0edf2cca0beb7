package faults

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// records are what no route shows, read from the database itself.
type records struct {
	Live     int // runs that have not ended
	Runs     []Run
	Owners   map[string][]string // the runs that somebody had
	Accounts map[string]attempts
	Ledger   map[string]entries // by the user's key
	Holds    map[string]int64   // of credits, by user and hold
	Ends     map[string]bool    // holds that are on the list of those that end, by the same
	Marks    map[string]bool    // what was done with credits, by user and the name's hash
}

// attempts is what is known of an account's PINs.
type attempts struct {
	Failures int
	Until    int64 // of the lock, in milliseconds
}

// entries is what the entries of an account of credits add up to.
type entries struct {
	Granted, Spent int64
	Uses           int
}

// readRecords reads them all.
func readRecords(ctx context.Context, address string) (_ records, err error) {
	db, err := sqldb.Open(ctx, address, sqldb.Options{MaxReaders: 2})
	if err != nil {
		return records{}, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	r := records{
		Owners: map[string][]string{}, Accounts: map[string]attempts{}, Ledger: map[string]entries{},
		Holds: map[string]int64{}, Ends: map[string]bool{}, Marks: map[string]bool{},
	}
	for _, step := range []struct {
		query string
		row   func(scan func(...any) error) error
	}{
		{`SELECT id, session_id, status, owner, ended_ms FROM oracle_runs`, r.run},
		{`SELECT a.id, COALESCE(SUM(t.failures), 0), COALESCE(MAX(t.locked_until_ms), 0) FROM ussd_accounts a
			LEFT JOIN ussd_attempts t ON t.subject = a.id GROUP BY a.id`, r.account},
		{`SELECT key, value FROM oracle_plugin_keys WHERE plugin = 'credits'`, r.credit},
	} {
		rows, err := db.Read().QueryContext(ctx, step.query)
		if err != nil {
			return r, err
		}
		for rows.Next() && err == nil {
			err = step.row(rows.Scan)
		}
		if err := errors.Join(err, rows.Err(), rows.Close()); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (r *records) run(scan func(...any) error) error {
	var one Run
	var owner string
	var ended int64
	if err := scan(&one.ID, &one.Session, &one.Status, &owner, &ended); err != nil {
		return err
	}
	r.Runs = append(r.Runs, one)
	r.Owners[owner] = append(r.Owners[owner], one.ID)
	if ended == 0 {
		r.Live++
	}
	return nil
}

func (r *records) account(scan func(...any) error) error {
	var id string
	var a attempts
	if err := scan(&id, &a.Failures, &a.Until); err != nil {
		return err
	}
	r.Accounts[id] = a
	return nil
}

// credit reads one key of the ledger: its doc says what each kind is.
func (r *records) credit(scan func(...any) error) error {
	var key string
	var value []byte
	if err := scan(&key, &value); err != nil {
		return err
	}
	kind, rest, _ := strings.Cut(key, "/")
	switch kind {
	case "d":
		r.Marks[rest] = true
	case "x":
		_, rest, _ = strings.Cut(rest, "/") // when it ends
		r.Ends[rest] = true
	case "e", "h":
		return r.amount(kind, rest, value)
	}
	return nil
}

func (r *records) amount(kind, rest string, value []byte) error {
	var one struct {
		Kind   string
		Amount int64
	}
	if err := json.Unmarshal(value, &one); err != nil {
		return err
	}
	if kind == "h" {
		r.Holds[rest] = one.Amount
		return nil
	}
	user, _, _ := strings.Cut(rest, "/")
	sum := r.Ledger[user]
	switch one.Kind {
	case "grant":
		sum.Granted += one.Amount
	case "use":
		sum.Uses++
		sum.Spent += one.Amount
	}
	r.Ledger[user] = sum
	return nil
}

// ending is how many of a user's credits are held by holds that end.
func (r *records) ending(user string) (sum int64) {
	for name, amount := range r.Holds {
		if strings.HasPrefix(name, user+"/") && r.Ends[name] {
			sum += amount
		}
	}
	return sum
}

// settled is how many runs of somebody are marked as paid.
func (r *records) settled(owner, user string) (n int) {
	for _, id := range r.Owners[owner] {
		sum := sha256.Sum256([]byte("settle " + id))
		if r.Marks[user+"/"+hex.EncodeToString(sum[:16])] {
			n++
		}
	}
	return n
}

// readerChild tells this very program to read the records of a database and to
// print them: SQLite's files are where only the stage sees them.
const readerChild = "CASTALIA_FAULTS_READ"

func beReader() {
	address := os.Getenv(readerChild)
	if address == "" {
		return
	}
	r, err := readRecords(context.Background(), address)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(r)
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
