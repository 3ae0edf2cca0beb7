// Package shipping puts the replica of the embedded shape together: where it is, for
// whom it is encrypted, and what operators hear of it.
package shipping

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/app/causes"
	"github.com/castalia-org/castalia/internal/app/keyring"
	"github.com/castalia-org/castalia/internal/app/stores"
	"github.com/castalia-org/castalia/internal/platform/archive"
	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/replica"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
	"github.com/castalia-org/castalia/internal/platform/trouble"
	"github.com/castalia-org/castalia/internal/platform/words"
)

const (
	// late is how far a replica may be behind before that is called trouble.
	late = 10 * time.Second
	// The bounds of REPLICA_INTERVAL and REPLICA_RETENTION.
	leastInterval, mostInterval = 50 * time.Millisecond, time.Minute
	leastRetention              = time.Hour
)

// Ship is the replica of a running server.
type Ship struct{ *replica.Shipper }

// Given reports whether the settings ask for a replica.
func Given(s *config.Settings) bool { return s.Storage.Replica.Given() }

// Place opens the place of a replica. Writes says that this process is to write there.
func Place(at config.URL, s *config.Settings, writes bool) (blob.Store, error) {
	return stores.Place("REPLICA_URL", at, s, writes)
}

// Guard refuses to begin a new deployment beside the replica of one that was lost:
// who deleted the folder wants it back, and a new one would take the replica's place.
func Guard(ctx context.Context, s *config.Settings) error {
	if !Given(s) {
		return nil
	}
	if s.Storage.Database.Given() {
		return errors.New("REPLICA_URL: it is for the embedded shape; PostgreSQL has replication of its own")
	}
	if _, err := os.Stat(stores.File(s)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	to, err := Place(s.Storage.Replica, s, false)
	if err != nil {
		return err
	}
	taken, err := replica.Occupied(ctx, to)
	switch {
	case err != nil:
		return fmt.Errorf("REPLICA_URL: a new deployment needs a place that answers: %w", err)
	case taken:
		return fmt.Errorf("REPLICA_URL: there is no deployment in %s, but a replica of one in %s: `castalia restore --from %s` brings it back; for a new deployment name an empty place",
			s.Storage.Data, s.Storage.Replica, s.Storage.Replica)
	}
	return nil
}

// Prepare makes the replica of a server whose keys are known. Call it before the
// database is opened. Without REPLICA_URL there is none, which is nil.
func Prepare(s *config.Settings, version string, log *slog.Logger) (*Ship, error) {
	if !Given(s) {
		return nil, nil //nolint:nilnil // there is none
	}
	lock, err := lockOf(s)
	if err != nil {
		return nil, err
	}
	switch {
	case s.Storage.ReplicaInterval < leastInterval || s.Storage.ReplicaInterval > mostInterval:
		return nil, fmt.Errorf("REPLICA_INTERVAL: given %s, allowed are %s to %s", s.Storage.ReplicaInterval, leastInterval, mostInterval)
	case s.Storage.ReplicaRetention < leastRetention:
		return nil, fmt.Errorf("REPLICA_RETENTION: given %s, allowed is %s or more", s.Storage.ReplicaRetention, leastRetention)
	}
	to, err := Place(s.Storage.Replica, s, true)
	if err != nil {
		return nil, err
	}
	keys, err := keyring.Kept(s)
	if err != nil {
		return nil, err
	}
	signer, err := signing(s.Identity.OracleKey)
	if err != nil {
		return nil, err
	}
	ship, err := replica.Prepare(replica.Config{
		To: to, Folder: s.Storage.Data, Database: stores.File(s), Deployment: Deployment(s), Program: version,
		Lock: lock, Signer: signer, Keys: keys,
		Retention: s.Storage.ReplicaRetention, Interval: s.Storage.ReplicaInterval, Log: log,
	})
	if err != nil {
		return nil, err
	}
	return &Ship{ship}, nil
}

// Deployment names a deployment to its replica: by its identity, which nobody learns
// from the name.
func Deployment(s *config.Settings) string {
	mac := hmac.New(sha256.New, s.Identity.OracleKey)
	mac.Write([]byte("castalia replica"))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

func lockOf(s *config.Settings) (archive.Lock, error) {
	recipients, passphrase := s.Storage.ReplicaRecipients, s.Storage.ReplicaPassphrase.Reveal()
	switch {
	case (recipients == "") == (passphrase == ""):
		return archive.Lock{}, errors.New("REPLICA_URL: a replica holds everything, keys too: give REPLICA_RECIPIENTS (`castalia key new --backup` makes one) or REPLICA_PASSPHRASE, one of them")
	case recipients != "":
		lock, err := archive.LockTo(strings.ReplaceAll(recipients, ",", "\n"))
		if err != nil {
			return lock, fmt.Errorf("REPLICA_RECIPIENTS: %w", err)
		}
		return lock, nil
	}
	lock, err := archive.LockBy(passphrase)
	if err != nil {
		return lock, fmt.Errorf("REPLICA_PASSPHRASE: %w", err)
	}
	return lock, nil
}

// Watch has the replica copy a database and its objects, shows its state as metrics,
// and returns the objects as they are to be used.
func (s *Ship) Watch(db *sqldb.DB, objects blob.Store, m *telemetry.Metrics) blob.Store {
	watched := replica.Watch(objects, named(db))
	s.Use(db.Log(), watched)
	m.GaugeFunc("replica_lag_seconds", "How far the replica is behind the database.", func() float64 { return s.Lag().Seconds() })
	return watched
}

// Ready is what readiness says of the replica: a node serves without it.
func (s *Ship) Ready() string {
	if s.Lag() > late {
		return "behind"
	}
	return "ok"
}

// Causes says to operators what is wrong with the replica.
func (s *Ship) Causes() *causes.Part {
	return &causes.Part{Name: "replica", Look: func(context.Context) []*trouble.Trouble {
		lag := s.Lag()
		if lag <= late {
			return nil
		}
		behind := lag.Round(time.Second).String()
		if why := s.Trouble(); why != "" {
			return []*trouble.Trouble{trouble.New("health.replicaBehind", words.Values{"lag": behind, "why": why})}
		}
		return []*trouble.Trouble{trouble.New("health.replicaCopying", words.Values{"lag": behind})}
	}}
}

// Examine says what a doctor sees of the replica.
func Examine(ctx context.Context, s *config.Settings) (string, error) {
	from, err := Place(s.Storage.Replica, s, false)
	if err != nil {
		return "", err
	}
	seen, err := replica.Look(ctx, from)
	switch {
	case err != nil:
		return "", err
	case seen.Deployment == "":
		return "", errors.New("nothing was copied yet")
	case seen.Deployment != Deployment(s):
		return "", errors.New("it is of another deployment")
	case seen.Newest.IsZero():
		return "", errors.New("there is no whole copy yet")
	case len(seen.Passed) > 0:
		return "", fmt.Errorf("there is no whole copy of what is newer than %s yet", seen.Newest.Format(time.RFC3339))
	}
	return fmt.Sprintf("can be restored from %s to %s", seen.Oldest.Format(time.RFC3339), seen.Newest.Format(time.RFC3339)), nil
}
