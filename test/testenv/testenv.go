// Package testenv gives tests the things outside the program that they need: a
// PostgreSQL database, an S3 bucket, a NATS server, a browser.
//
// It is the only place from which a test may be skipped. What is absent skips
// the test, unless MUST_RUN (a comma list of names, or "all") lists it: then the
// test fails, so that a suite that should have run cannot vanish silently.
//
// Names: postgres (TEST_POSTGRES_URL), s3 (TEST_S3_URL and AWS_*), nats (always
// there), netns (root, iproute2 and a kernel with network namespaces), history
// (earlier commits), long (CASTALIA_LONG=1); a name in capitals is an environment variable;
// any other name is a program on the PATH.
//
// Decision: ADR 0014.
package testenv

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/sqldb/pgadmin"
	"github.com/castalia-org/castalia/test/servers"
)

// setupLimit bounds what making or dropping a resource may take.
const setupLimit = 2 * time.Minute

// Need skips the test when one of the things is absent, and fails it when
// MUST_RUN says that it may not be.
func Need(t testing.TB, things ...string) {
	t.Helper()
	for _, thing := range things {
		if why := missing(thing, os.Getenv, exec.LookPath); why != "" {
			Lacks(t, thing, why)
		}
	}
}

// Lacks is for a test that found out by itself that something is absent: it
// skips it, or fails it when MUST_RUN says that it may not be.
func Lacks(t testing.TB, thing, why string) {
	t.Helper()
	if mustRun(os.Getenv("MUST_RUN"), thing) {
		t.Fatalf("MUST_RUN lists %s, but %s", thing, why)
	} else {
		t.Skipf("needs %s: %s", thing, why)
	}
}

// missing says why a thing is not there; empty means it is.
func missing(thing string, env func(string) string, look func(string) (string, error)) string {
	variable := ""
	switch thing {
	case "nats":
		return ""
	case "netns":
		return noNamespaces(look)
	case "smalldisk":
		return noSmallDisk()
	case "history":
		return noHistory()
	case "postgres":
		variable = "TEST_POSTGRES_URL"
	case "s3":
		variable = "TEST_S3_URL"
	case "long":
		variable = "CASTALIA_LONG"
	default:
		if thing == strings.ToUpper(thing) {
			variable = thing
		}
	}
	if variable != "" {
		if env(variable) == "" {
			return variable + " is not set"
		}
		return ""
	}
	if _, err := look(thing); err != nil {
		return "it is not on the PATH"
	}
	return ""
}

// noHistory says why earlier commits cannot be read here.
func noHistory() string {
	if said, err := exec.CommandContext(context.Background(), "git", "rev-parse", "--verify", "--quiet", "HEAD~1^{commit}").CombinedOutput(); err != nil {
		return fmt.Sprintf("git knows no commit before this one: %v %s", err, said)
	}
	return ""
}

func mustRun(list, thing string) bool {
	names := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	return slices.Contains(names, "all") || slices.Contains(names, thing)
}

// Env returns the environment variable, which the test needs.
func Env(t testing.TB, name string) string {
	t.Helper()
	Need(t, name)
	return os.Getenv(name)
}

// Postgres returns the address of a new, empty database that is dropped when
// the test ends.
func Postgres(t testing.TB) string {
	t.Helper()
	Need(t, "postgres")
	server := os.Getenv("TEST_POSTGRES_URL")
	name := "castalia_test_" + Token()
	ctx, cancel := context.WithTimeout(context.Background(), setupLimit)
	defer cancel()
	address, err := pgadmin.Create(ctx, server, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), setupLimit)
		defer cancel()
		if err := pgadmin.Drop(ctx, server, name); err != nil {
			t.Error(err)
		}
	})
	return address
}

// Port returns a free port of 127.0.0.1 that is the test's until it ends.
func Port(t testing.TB) int {
	t.Helper()
	port, release, err := servers.Port()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return port
}

// Token returns a short random name, fit for databases, buckets and subjects.
func Token() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
