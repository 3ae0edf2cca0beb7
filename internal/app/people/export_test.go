package people_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/app/people"
	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/appkey"
	"github.com/castalia-org/castalia/internal/identity/appkey/appkeysql"
	"github.com/castalia-org/castalia/internal/identity/identitysql"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/queue"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/coldstore"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/internal/service/oracle/registry"
	"github.com/castalia-org/castalia/internal/service/webhook/webhooksql"
)

// emptied is an archive that has lost what it had.
type emptied struct{ coldstore.Thawer }

func (emptied) Read(context.Context, string) (coldstore.Kept, bool, error) {
	return coldstore.Kept{}, true, oracle.ErrLost
}

// exported asks for an export of somebody and returns its files.
func exported(t *testing.T, d people.Deps, did string) map[string]string {
	t.Helper()
	server, err := httpserver.New(httpserver.Config{OperatorToken: "hush"})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Mount(people.Surface(d)); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/operator/people/"+did+"/export", nil)
	r.Header.Set("Authorization", "Bearer hush")
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	plain, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for all := tar.NewReader(plain); ; {
		h, err := all.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(all)
		if err != nil {
			t.Fatal(err)
		}
		found[h.Name] = string(text)
	}
}

// An export has what is not shown of conversations, calls, and all but the messages of what
// the archive has lost, which it names.
func TestAnExportIsWhole(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := open(t)
		d := opened(t, db)
		sqldbtest.Migrate(t, db, identitysql.Migrations())
		sqldbtest.Migrate(t, db, webhooksql.Migrations())
		oracletest.Migrated(t, db)
		st := oraclesql.New(db).WithCold(emptied{})
		plugins, err := registry.New(registry.Config{})
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		keys, err := appkey.New(appkey.Deps{
			Store: appkeysql.New(db), Identity: new(identity.Service), Secret: make([]byte, 32),
		})
		if err != nil {
			t.Fatal(err)
		}
		keep := people.Services{
			DB: db, Keys: keys,
			Webhooks: webhooksql.New(db, queue.Config{}), Chats: oracle.New(oracle.Deps{Store: st}), Plugins: plugins,
			Calls: st.CallsAfter, Log: slog.New(slog.NewTextHandler(&log, nil)),
		}
		d.Export = keep.Export
		d.Elsewhere = func(context.Context) ([]string, error) { return nil, nil }
		branched, lost := oracletest.Branched(t, st), oracletest.NewSession(t, st)
		record := call.Record{
			ID: oracle.NewID(), SessionID: branched.ID, Owner: oracletest.Owner, Type: call.Audio,
			CreatedAt: time.Now(), ExpiresAt: time.Now(),
			Recording: call.Recording{State: call.RecordingOn, Path: "/calls/one.ogg"},
		}
		if err := st.CreateCall(t.Context(), record, call.Claim{PerUser: 1, TTL: time.Minute}); err != nil {
			t.Fatal(err)
		}
		alice := identitytest.Alice.DID
		for _, table := range []string{"oracle_sessions", "oracle_calls"} {
			if _, err := db.WriteOne(t.Context(), `UPDATE `+table+` SET owner = $1`, alice); err != nil {
				t.Fatal(err)
			}
		}
		found := exported(t, d, alice)
		if text := found[people.LostName]; !strings.Contains(text, `"conversations": []`) || log.Len() > 0 {
			t.Errorf("nothing is lost, and %s: %s", text, &log)
		}
		if _, err := db.WriteOne(t.Context(), `UPDATE oracle_sessions SET cold = 1 WHERE id = $1`, lost.ID); err != nil {
			t.Fatal(err)
		}
		found = exported(t, d, alice)
		for name, want := range map[string][]string{
			"conversations/" + branched.ID + ".json": {`"on b"`, `"on B"`, `"Text": "no"`, `"branches"`, `"Hidden": true`},
			"conversations/" + lost.ID + ".json":     {`"lost"`, `"messages": []`, `"Title": "Untitled"`},
			"calls-0001.json":                        {record.ID, "/calls/one.ogg"},
			people.LostName:                          {lost.ID},
		} {
			for _, text := range want {
				if !strings.Contains(found[name], text) {
					t.Errorf("%s lacks %s:\n%s", name, text, found[name])
				}
			}
		}
		if n := strings.Count(log.String(), "event=people.export_lost"); n != 1 {
			t.Errorf("%d events, want one: %s", n, &log)
		}
	})
}
