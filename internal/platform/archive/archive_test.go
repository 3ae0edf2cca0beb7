package archive_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/archive"
	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/blob/blobmem"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/platform/sqldb/tablecopy"
	"github.com/castalia-org/castalia/test/testenv"
)

func tables(extra string) []sqldb.Migrations {
	return []sqldb.Migrations{{Service: "demo", FS: fstest.MapFS{"0001_first.sql": {Data: []byte(
		`CREATE TABLE demo_things (id {{text}} NOT NULL PRIMARY KEY, body {{blob}}) {{table}};` + extra)}}}}
}

// place returns an empty place and what PutKey put there.
func place(t *testing.T, address string) (archive.Place, map[string][]byte) {
	t.Helper()
	keys := map[string][]byte{}
	return archive.Place{
		DB:         sqldbtest.Migrate(t, sqldbtest.Open(t, address, sqldb.Options{}), tables("")...),
		Blobs:      blobmem.New(),
		Migrations: tables(""),
		PutKey:     func(name string, key []byte) error { keys[name] = key; return nil },
		Program:    "test",
	}, keys
}

func fill(t *testing.T, p *archive.Place) {
	t.Helper()
	for i := range 20 {
		err := p.DB.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO demo_things (id, body) VALUES ($1, $2)`, fmt.Sprint(i), bytes.Repeat([]byte{byte(i)}, i*100))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Blobs.Put(t.Context(), fmt.Sprintf("ns/%02d", i), strings.NewReader(strings.Repeat("o", i)),
			blob.PutOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	p.Keys = map[string][]byte{"ORACLE_KEY": []byte("one\n"), "FILES_MASTER_KEY": []byte("two\n")}
}

// content is everything in a place.
func content(t *testing.T, p archive.Place) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := tablecopy.Export(t.Context(), p.DB, func(table string, piece []byte) error {
		all[table] += string(piece)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for info, err := range p.Blobs.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		body, err := p.Blobs.Get(t.Context(), info.Key, 0, -1)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		_ = body.Close()
		all["object "+info.Key] = string(text)
	}
	return all
}

func write(t *testing.T, p archive.Place) []byte {
	t.Helper()
	var out bytes.Buffer
	did, err := archive.Write(t.Context(), &out, p)
	if err != nil {
		t.Fatal(err)
	}
	if did.Objects != 20 || did.Keys != len(p.Keys) || did.Pieces == 0 {
		t.Errorf("wrote %+v", did)
	}
	return out.Bytes()
}

func TestADeploymentMovesBetweenShapes(t *testing.T) {
	t.Parallel()
	for _, route := range []struct{ name, from, to string }{
		{"sqlite to sqlite", "sqlite", "sqlite"}, {"sqlite to postgres", "sqlite", "postgres"}, {"postgres to sqlite", "postgres", "sqlite"},
	} {
		t.Run(route.name, func(t *testing.T) {
			t.Parallel()
			address := func(engine string) string {
				if engine == "postgres" {
					return testenv.Postgres(t)
				}
				return sqldbtest.SQLiteURL(t)
			}
			source, _ := place(t, address(route.from))
			fill(t, &source)
			text := write(t, source)
			m, err := archive.Verify(bytes.NewReader(text), anybody)
			if err != nil || m.Engine != route.from || m.Program != "test" {
				t.Errorf("Verify: %+v, %v", m, err)
			}
			target, keys := place(t, address(route.to))
			if _, err := archive.Read(t.Context(), bytes.NewReader(text), anybody, target); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(content(t, source), content(t, target)); diff != "" {
				t.Errorf("content (-source +target):\n%.3000s", diff)
			}
			if diff := cmp.Diff(source.Keys, keys); diff != "" {
				t.Errorf("keys (-source +target):\n%s", diff)
			}
			if _, err := archive.Read(t.Context(), bytes.NewReader(text), anybody, target); err == nil ||
				!strings.Contains(err.Error(), "not empty") {
				t.Errorf("a second restore: %v", err)
			}
		})
	}
}

func TestADamagedArchiveIsRefused(t *testing.T) {
	t.Parallel()
	source, _ := place(t, sqldbtest.SQLiteURL(t))
	fill(t, &source)
	text := write(t, source)
	for at := 0; at < len(text)-1024; at += 997 {
		if _, err := archive.Verify(bytes.NewReader(text[:at]), anybody); err == nil {
			t.Errorf("cut at %d of %d: accepted", at, len(text))
		}
	}
	// Change each of a few bytes of content; padding between entries is nobody's.
	for _, word := range []string{`["19"`, "ooooooooooooooooooo", "keys/ORACLE_KEY", `"test"`, `"sha256"`} {
		at := bytes.Index(text, []byte(word))
		if at < 0 {
			t.Fatalf("no %q in the archive", word)
		}
		hurt := bytes.Clone(text)
		hurt[at+2] ^= 1
		if _, err := archive.Verify(bytes.NewReader(hurt), anybody); err == nil {
			t.Errorf("changed %q: accepted", word)
		}
	}
	if _, err := archive.Verify(strings.NewReader("no archive"), anybody); err == nil {
		t.Error("a text was accepted")
	}
}

func TestAnArchiveOfOtherTablesIsRefused(t *testing.T) {
	t.Parallel()
	source, _ := place(t, sqldbtest.SQLiteURL(t))
	fill(t, &source)
	text := write(t, source)
	other := tables(` CREATE TABLE demo_more (id {{int}} NOT NULL PRIMARY KEY) {{table}};`)
	target, _ := place(t, sqldbtest.SQLiteURL(t))
	target.DB = sqldbtest.SQLite(t)
	target.Migrations = other
	if _, err := archive.Read(t.Context(), bytes.NewReader(text), anybody, target); err == nil ||
		!strings.Contains(err.Error(), "other tables") {
		t.Errorf("Read: %v", err)
	}
	unmigrated := target
	unmigrated.DB = sqldbtest.SQLite(t)
	if _, err := archive.Write(t.Context(), io.Discard, unmigrated); err == nil || !strings.Contains(err.Error(), "pending") {
		t.Errorf("Write of a place without tables: %v", err)
	}
}

// grown is the program after tables: it adds a column, filled from the rows, and a
// service that was not there before.
func grown() []sqldb.Migrations {
	files := tables("")[0].FS.(fstest.MapFS)
	files["0002_second.sql"] = &fstest.MapFile{Data: []byte(`ALTER TABLE demo_things ADD COLUMN size {{int}} NOT NULL DEFAULT 7;
		UPDATE demo_things SET size = length(body);`)}
	return []sqldb.Migrations{{Service: "demo", FS: files}, {Service: "later", FS: fstest.MapFS{"0001_first.sql": {Data: []byte(
		`CREATE TABLE later_things (id {{int}} NOT NULL PRIMARY KEY) {{table}};`)}}}}
}

func TestAnOlderArchiveIsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			source, _ := place(t, sqldbtest.SQLiteURL(t))
			fill(t, &source)
			text := write(t, source)
			address := sqldbtest.SQLiteURL(t)
			if engine == "postgres" {
				address = testenv.Postgres(t)
			}
			target := archive.Place{
				DB: sqldbtest.Open(t, address, sqldb.Options{}), Blobs: blobmem.New(), Migrations: grown(), Program: "newer",
				PutKey: func(string, []byte) error { return nil },
			}
			if _, err := archive.Read(t.Context(), bytes.NewReader(text), anybody, target); err != nil {
				t.Fatal(err)
			}
			var rows, size int
			err := target.DB.Read().QueryRowContext(t.Context(), `SELECT COUNT(*), SUM(size) FROM demo_things`).Scan(&rows, &size)
			if err != nil || rows != 20 || size != 100*19*20/2 {
				t.Errorf("%d rows of %d bytes, %v", rows, size, err)
			}
			if _, err := target.DB.Read().QueryContext(t.Context(), `SELECT id FROM later_things`); err != nil {
				t.Errorf("what came later: %v", err)
			}
			var newer bytes.Buffer
			if _, err := archive.Write(t.Context(), &newer, target); err != nil {
				t.Fatal(err)
			}
			older, _ := place(t, sqldbtest.SQLiteURL(t))
			older.DB = sqldbtest.SQLite(t)
			if _, err := archive.Read(t.Context(), &newer, anybody, older); err == nil || !strings.Contains(err.Error(), "newer than this program") {
				t.Errorf("a newer archive: %v", err)
			}
			ahead := older
			ahead.DB, ahead.Migrations = sqldbtest.Migrate(t, sqldbtest.SQLite(t), grown()...), grown()
			_, err = archive.Read(t.Context(), bytes.NewReader(text), anybody, ahead)
			if err == nil || !strings.Contains(err.Error(), "empty database only") {
				t.Errorf("into tables that are ahead: %v", err)
			}
		})
	}
}

func TestKeysNeedAPlaceToGo(t *testing.T) {
	t.Parallel()
	source, _ := place(t, sqldbtest.SQLiteURL(t))
	fill(t, &source)
	target, _ := place(t, sqldbtest.SQLiteURL(t))
	target.PutKey = nil
	if _, err := archive.Read(t.Context(), bytes.NewReader(write(t, source)), anybody, target); err == nil {
		t.Error("keys were dropped silently")
	}
	source.Keys = nil
	target, keys := place(t, sqldbtest.SQLiteURL(t))
	target.PutKey = nil
	_, err := archive.Read(t.Context(), bytes.NewReader(write(t, source)), anybody, target)
	if err != nil || len(keys) != 0 {
		t.Errorf("an archive without keys: %v", err)
	}
}

func FuzzVerify(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("castalia.json"))
	f.Add(bytes.Repeat([]byte{0}, 1024))
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := archive.Verify(bytes.NewReader(text), anybody); err == nil && !bytes.Contains(text, []byte("sha256")) {
			t.Error("something without a sum was accepted")
		}
	})
}
