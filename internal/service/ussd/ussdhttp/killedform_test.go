package ussdhttp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
	"github.com/castalia-org/castalia/test/testenv"
)

// TestKilledWhileAFormIsSent kills the node at every hop of a form, as the hop is
// sent; the gateway repeats it at the next node. Each form is there once, whole.
func TestKilledWhileAFormIsSent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "menu.yaml")
	if err := os.WriteFile(file, []byte(ussdtest.FormMenu), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(menuEnv, file)
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			d := &doomed{t: t, url: sqldbtest.SQLiteURL(t)}
			if engine == "postgres" {
				testenv.Need(t, "postgres")
				d.url = testenv.Postgres(t)
			}
			d.nodes = []*child{startChild(t, d.url)}
			inputs := []string{"", "Ann", "Ann*12", "Ann*12*03021990", "Ann*12*03021990*2", "Ann*12*03021990*2*1"}
			for doomedHop := range inputs {
				session := fmt.Sprint("form", doomedHop)
				for i, text := range inputs {
					if i == doomedHop {
						sent := make(chan struct{})
						go func() {
							defer close(sent)
							_, _ = d.ask(0, session, text) // it may or may not be answered
						}()
						_ = d.nodes[0].cmd.Process.Kill()
						<-sent
						_ = d.nodes[0].cmd.Wait()
						d.nodes[0] = startChild(t, d.url)
					}
					answer, err := d.ask(0, session, text)
					if err != nil || answer == unavailable || i == len(inputs)-1 && answer != "END Thank you" {
						t.Fatalf("%s %q: %q %v", session, text, answer, err)
					}
				}
			}
			db := sqldbtest.Open(t, d.url, sqldb.Options{})
			all, err := ussdsql.New(db).Submissions(t.Context(), "farm", "", 100)
			if err != nil || len(all) != len(inputs) {
				t.Fatalf("%d forms were sent, %d are there: %v", len(inputs), len(all), err)
			}
			for _, one := range all {
				if len(one.Values) != 4 || !strings.HasPrefix(one.Values[0].Text, "Ann") {
					t.Errorf("%+v", one)
				}
			}
		})
	}
}
