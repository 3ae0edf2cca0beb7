package keysleft_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/app/keysleft"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql"
)

// A database that does not answer says nothing about keys: nobody is sent to look for some.
func TestADatabaseThatDoesNotAnswerIsNoMissingKey(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, open(t), filestoresql.Migrations())
		s := &config.Settings{}
		s.Files.MasterKey, s.USSD.PINKey = bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
		late, cancel := context.WithCancel(t.Context())
		cancel()
		var log bytes.Buffer
		part := keysleft.Causes(late, db, s, nil, slog.New(slog.NewTextHandler(&log, nil)))
		if said := log.String(); strings.Contains(said, "key.missing") || !strings.Contains(said, "key.unknown") {
			t.Errorf("the log says %s", said)
		}
		found := part.Look(late)
		if len(found) != 1 {
			t.Fatalf("operators hear %v", found)
		}
		said := found[0].Error()
		if strings.Contains(said, keysleft.RemedyOf(keysleft.ErrMissing)) || !strings.Contains(said, "could not be found out") {
			t.Errorf("operators hear %q", said)
		}
	})
}
