package pgadmin_test

import (
	"fmt"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/pgadmin"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/test/testenv"
)

// Copies of people have copies of what is theirs, and share what says of what kind it is.
func TestMultiplyCopiesWhatBelongsTogether(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "postgres")
	url := testenv.Postgres(t)
	db := sqldbtest.Open(t, url, sqldb.Options{})
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := db.WriteOne(t.Context(), query, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(`CREATE TABLE people (id text PRIMARY KEY, number text NOT NULL UNIQUE)`)
	exec(`CREATE TABLE things (seq bigint PRIMARY KEY, owner text NOT NULL, state text NOT NULL)`)
	exec(`CREATE INDEX things_by_owner ON things (owner, state)`)
	exec(`CREATE TABLE few (id text PRIMARY KEY)`)
	exec(`INSERT INTO few VALUES ('alone')`)
	const people, copies = 30, 7
	for i := range people {
		id := fmt.Sprintf("did:key:z6Mkmx5LgMFfnQYNcdQ9SZbzorH9vf%02dkuDw%c%c", i, 'A'+i/10, 'A'+i%10)
		exec(`INSERT INTO people VALUES ($1, $2)`, id, fmt.Sprintf("+25470000%04d", i))
		exec(`INSERT INTO things VALUES ($1, $2, 'kept'), ($3, $2, 'lost')`, i, id, people+i)
	}
	copied, err := pgadmin.Multiply(t.Context(), url, people, 3*people*copies)
	if err != nil {
		t.Fatal(err)
	}
	if len(copied) != 2 {
		t.Fatalf("copied %v, want people and things", copied)
	}
	for query, want := range map[string]int64{
		`SELECT count(*) FROM people`:                                   people * copies,
		`SELECT count(DISTINCT number) FROM people`:                     people * copies,
		`SELECT count(*) FROM people p JOIN things t ON t.owner = p.id`: 2 * people * copies,
		`SELECT count(DISTINCT state) FROM things`:                      2,
		`SELECT count(*) FROM few`:                                      1,
		`SELECT count(DISTINCT length(id)) FROM people`:                 1,
		`SELECT count(*) FROM people WHERE id NOT LIKE 'did:key:%'`:     0,
	} {
		var got int64
		if err := db.Read().QueryRowContext(t.Context(), query).Scan(&got); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		if got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	if _, err := pgadmin.Multiply(t.Context(), url, people, 1_000_000_000); err == nil {
		t.Error("more copies than there are endings for were made")
	}
}
