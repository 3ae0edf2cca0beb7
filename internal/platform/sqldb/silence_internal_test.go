package sqldb

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// server is a PostgreSQL that says yes to everything, over lines that can go
// dead: it then hears what is sent and never answers, as a machine does that was
// cut off or stopped.
type server struct {
	// hears decides whether a statement is answered; it may take its time.
	hears atomic.Pointer[func(query string) bool]
	lines atomic.Int32
	// refuses says whether the server is fenced; nil is never.
	refuses func() bool
}

func (s *server) set(hears func(query string) bool) { s.hears.Store(&hears) }

func everything(string) bool { return true }

// deafTo answers everything but what begins with the word.
func deafTo(word string) func(string) bool {
	return func(query string) bool { return !strings.HasPrefix(strings.ToLower(query), word) }
}

func (s *server) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	s.lines.Add(1)
	go s.serve(far)
	return near, nil
}

func (s *server) serve(line net.Conn) {
	defer func() { _ = line.Close() }()
	b := pgproto3.NewBackend(line, line)
	first, err := b.ReceiveStartupMessage()
	if _, ok := first.(*pgproto3.StartupMessage); !ok || err != nil {
		return // somebody who wants a statement to be cancelled
	}
	status := byte('I')
	b.Send(&pgproto3.AuthenticationOk{})
	b.Send(&pgproto3.ParameterStatus{Name: "standard_conforming_strings", Value: "on"})
	b.Send(&pgproto3.ParameterStatus{Name: "client_encoding", Value: "UTF8"})
	b.Send(&pgproto3.BackendKeyData{SecretKey: []byte{0, 0, 0, 1}})
	b.Send(&pgproto3.ReadyForQuery{TxStatus: status})
	for b.Flush() == nil {
		m, err := b.Receive()
		if err != nil {
			return
		}
		q, ok := m.(*pgproto3.Query)
		if !ok {
			return // the client says goodbye
		}
		if !(*s.hears.Load())(q.String) {
			continue
		}
		word, _, _ := strings.Cut(strings.ToLower(q.String), " ")
		switch word {
		case "--": // a ping
			b.Send(&pgproto3.EmptyQueryResponse{})
		case "select":
			if strings.Contains(q.String, "pg_is_in_recovery") {
				sendFlag(b, s.refuses != nil && s.refuses())
			} else if strings.Contains(q.String, "_migrations") {
				sendRows(b, 0)
			} else {
				sendRows(b, 2)
			}
		case "begin":
			status = 'T'
			b.Send(&pgproto3.CommandComplete{CommandTag: []byte("BEGIN")})
		case "commit", "rollback":
			status = 'I'
			b.Send(&pgproto3.CommandComplete{CommandTag: []byte(strings.ToUpper(word))})
		default:
			if s.refuses != nil && s.refuses() {
				status = 'E'
				refuse(b)
				break
			}
			b.Send(&pgproto3.CommandComplete{CommandTag: []byte("UPDATE 1")})
		}
		b.Send(&pgproto3.ReadyForQuery{TxStatus: status})
	}
}

func sendFlag(b *pgproto3.Backend, is bool) {
	b.Send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{
		Name: []byte("b"), DataTypeOID: 16, DataTypeSize: 1, TypeModifier: -1,
	}}})
	b.Send(&pgproto3.DataRow{Values: [][]byte{[]byte(map[bool]string{true: "t", false: "f"}[is])}})
	b.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
}

func sendRows(b *pgproto3.Backend, n int) {
	b.Send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{
		Name: []byte("n"), DataTypeOID: 23, DataTypeSize: 4, TypeModifier: -1,
	}}})
	for range n {
		b.Send(&pgproto3.DataRow{Values: [][]byte{[]byte("1")}})
	}
	b.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT " + strconv.Itoa(n))})
}

// lively opens a database on a server that answers everything.
func lively(t *testing.T) (*DB, *server) {
	t.Helper()
	s := &server{}
	s.set(everything)
	db, err := Open(t.Context(), "postgres://somebody@127.0.0.1/db?sslmode=disable&default_query_exec_mode=simple_protocol", Options{dial: s.dial})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db, s
}

func update(ctx context.Context, tx Querier) error {
	_, err := tx.ExecContext(ctx, `UPDATE things SET n = 1`)
	return err
}

// Nobody who asks waits for ever on a line that went dead, though the context
// has no end, as that of a background worker. Afterwards other lines serve.
func TestADeadLineIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		deaf string
		ask  func(ctx context.Context, db *DB) error
	}{
		"a read": {"select", func(ctx context.Context, db *DB) error {
			var n int
			return db.Read().QueryRowContext(ctx, `SELECT n FROM things`).Scan(&n)
		}},
		"a look at a line that has rested": {"--", func(ctx context.Context, db *DB) error {
			<-time.After(time.Minute)
			var n int
			err := db.Read().QueryRowContext(ctx, `SELECT n FROM things`).Scan(&n)
			if err == nil { // it was served by a new line
				err = unavailable(errors.New("as good as given up"))
			}
			return err
		}},
		"a snapshot": {"select", func(ctx context.Context, db *DB) error {
			return db.Snapshot(ctx, func(ctx context.Context, tx Querier) error {
				var n int
				return tx.QueryRowContext(ctx, `SELECT n FROM things`).Scan(&n)
			})
		}},
		"the beginning of a snapshot": {"begin", func(ctx context.Context, db *DB) error {
			return db.Snapshot(ctx, func(context.Context, Querier) error { return nil })
		}},
		"the beginning of a write": {"begin", func(ctx context.Context, db *DB) error { return db.Write(ctx, update) }},
		"a statement of a write":   {"update", func(ctx context.Context, db *DB) error { return db.Write(ctx, update) }},
		"a commit":                 {"commit", func(ctx context.Context, db *DB) error { return db.Write(ctx, update) }},
		"a statement alone": {"update", func(ctx context.Context, db *DB) error {
			_, err := db.WriteOne(ctx, `UPDATE things SET n = 1`)
			return err
		}},
		"the clock": {"select", func(ctx context.Context, db *DB) error {
			_, err := db.Now(ctx)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, s := lively(t)
				s.set(deafTo(c.deaf))
				ctx, giveUp := context.WithCancel(t.Context())
				defer giveUp()
				ended := make(chan error, 1)
				go func() { ended <- c.ask(ctx, db) }()
				select {
				case err := <-ended:
					if !fault.Is(err, fault.Unavailable) {
						t.Errorf("it ended with %v", err)
					}
				case <-time.After(5 * time.Minute):
					giveUp()
					t.Fatalf("it waits for ever; then: %v", <-ended)
				}
				s.set(everything)
				if err := db.Write(t.Context(), update); err != nil {
					t.Errorf("a write after it: %v", err)
				}
				if _, err := db.Now(t.Context()); err != nil {
					t.Errorf("a read after it: %v", err)
				}
			})
		})
	}
}

// A caller's own limit counts before a write has begun too.
func TestAWriteEndsWithItsContextWhileItBegins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, s := lively(t)
		s.set(deafTo("begin"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := db.Write(ctx, update); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it ended with %v", err)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("it ended after %v", took)
		}
	})
}

// What a statement alone did is told, also to somebody who does not want to know
// any more.
func TestTheOutcomeOfAStatementAloneIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, s := lively(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.set(func(query string) bool {
			if strings.HasPrefix(query, "UPDATE") {
				cancel()
				<-time.After(time.Second)
			}
			return true
		})
		if n, err := db.WriteOne(ctx, `UPDATE things SET n = 1`); n != 1 || err != nil {
			t.Errorf("it is told: %d rows, %v", n, err)
		}
		if _, err := db.WriteOne(ctx, `UPDATE things SET n = 1`); !errors.Is(err, context.Canceled) {
			t.Errorf("after it: %v", err)
		}
	})
}

// The reader of rows may take its time: what is bounded is the server's silence.
func TestASlowReaderOfRowsIsNotSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, _ := lively(t)
		rows, err := db.Read().QueryContext(t.Context(), `SELECT n FROM things`)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = rows.Close() }()
		n := 0
		for rows.Next() {
			n++
			<-time.After(10 * time.Minute)
		}
		if err := rows.Err(); err != nil || n != 2 {
			t.Errorf("%d rows, %v", n, err)
		}
	})
}

// Nodes that start together take turns, and a large table takes its time: a
// migration is not silence.
func TestAMigrationMayTakeLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db, s := lively(t)
		s.set(func(query string) bool {
			if strings.Contains(query, "pg_advisory_xact_lock") || strings.HasPrefix(query, "CREATE INDEX") {
				<-time.After(10 * time.Minute)
			}
			return true
		})
		began := time.Now()
		if err := db.Migrate(t.Context(), Migrations{Service: "things", FS: fstest.MapFS{
			"0001_large.sql": {Data: []byte(`CREATE INDEX large ON things (n)`)},
		}}); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < 20*time.Minute {
			t.Errorf("it took %v: the server was not waited for", took)
		}
	})
}

// A write that others share is as slow as its slowest part, and a write of one function
// as slow as that.
func TestPartsAreTimedOneByOne(t *testing.T) {
	t.Parallel()
	take := func(d time.Duration) writeFunc {
		return func(context.Context, Querier) error { <-time.After(d); return nil }
	}
	for name, c := range map[string]struct {
		write func(ctx context.Context, db *DB, tx Querier) error
		slow  int64
	}{
		"one that is slow": {func(ctx context.Context, _ *DB, tx Querier) error {
			return take(2*slowFunction)(ctx, tx)
		}, 1},
		"many that are not": {func(ctx context.Context, db *DB, tx Querier) (err error) {
			for range 32 {
				err = errors.Join(err, db.Part(ctx, tx, take(slowFunction/2)))
			}
			return err
		}, 0},
		"two among others": {func(ctx context.Context, db *DB, tx Querier) (err error) {
			for i := range 8 {
				err = errors.Join(err, db.Part(ctx, tx, take(slowFunction/2+time.Duration(i/6)*slowFunction)))
			}
			return err
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db, _ := lively(t)
				err := db.Write(t.Context(), func(ctx context.Context, tx Querier) error { return c.write(ctx, db, tx) })
				if slow := db.Stats().Slow; err != nil || slow != c.slow {
					t.Errorf("%d were slow, want %d (%v)", slow, c.slow, err)
				}
			})
		})
	}
}
