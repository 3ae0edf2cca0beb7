package sqldb

import "testing"

func TestArgumentsNeedNoNames(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		`SELECT 1`: `SELECT 1`,
		`INSERT INTO t (a, b) VALUES ($1, $2), ($3,$4)`:             `INSERT INTO t (a, b) VALUES (?, ?), (?,?)`,
		`SELECT '$1', "a$2", 'it''s $1' WHERE a = $1`:               `SELECT '$1', "a$2", 'it''s $1' WHERE a = ?`,
		`SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10`:            `SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?`,
		`UPDATE t SET a = $2 WHERE b = $1`:                          `UPDATE t SET a = $2 WHERE b = $1`,
		`SELECT $1 WHERE a = $1`:                                    `SELECT $1 WHERE a = $1`,
		`SELECT $12`:                                                `SELECT $12`,
		`SELECT $name`:                                              `SELECT $name`,
		`SELECT 'open $1`:                                           `SELECT 'open $1`,
		"SELECT $1 -- 'and $2\n, $2":                                "SELECT $1 -- 'and $2\n, $2",
		"SELECT $1 /* ' */ , $2":                                    "SELECT $1 /* ' */ , $2",
		`SELECT $1, ?`:                                              `SELECT $1, ?`,
		"SELECT $1, `a'b`":                                          "SELECT $1, `a'b`",
		`SELECT a FROM (SELECT $1 AS a LIMIT 0 + $2) WHERE a <> ''`: `SELECT a FROM (SELECT ? AS a LIMIT 0 + ?) WHERE a <> ''`,
	} {
		if got := nameless(query); got != want {
			t.Errorf("%s became %s, want %s", query, got, want)
		}
	}
}
