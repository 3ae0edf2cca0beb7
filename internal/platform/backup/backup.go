// Package backup makes archives of a deployment at a place outside of it, now and by a
// schedule, and checks what is there.
//
// It promises that only a whole archive is a backup: its record is stored after it, and
// what has no record does not count; that one node of a fleet makes one at a time, and that
// another goes on when it dies; that what was asked for is done although the node that was
// asked is gone; that the next one is due by what is stored, not by what anybody
// remembers; and that old ones go only after a newer one is whole.
//
// It refuses places without recipients: an archive holds everything, keys too. It holds
// nothing that opens one, so its check is that of the bytes: that they are all there, as
// they were written. Whoever has the key tries a restore (`castalia backups check`).
//
// Records carry a code under the deployment's key. What another deployment stores at the
// same place is neither listed nor deleted, and a record that somebody else wrote does not
// count.
//
// Decision: ADR 0276.
package backup

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/yamlfile"
)

// The bounds of a schedule.
const (
	Least   = time.Hour
	MaxKeep = 1000
)

// MaxSchedule bounds the document of the schedule.
const MaxSchedule = 4 << 10

// Schedule is how often a backup is made, and how many are kept.
type Schedule struct {
	// Every is the time between two; 0 makes none.
	Every time.Duration
	// Keep is how many of the newest stay; 0 keeps all.
	Keep int
}

// document is what operators write.
type document struct {
	Every string `yaml:"every"`
	Keep  string `yaml:"keep"`
}

// ParseSchedule reads a schedule: every with a duration such as 24h, keep with a number;
// either may be off.
func ParseSchedule(text []byte) (Schedule, error) {
	if len(strings.TrimSpace(string(text))) == 0 {
		return Schedule{}, nil
	}
	var d document
	if err := yamlfile.Strict(text, &d, MaxSchedule); err != nil {
		return Schedule{}, err
	}
	every, err := config.ParseDuration(d.Every)
	if err != nil || every != 0 && every < Least {
		return Schedule{}, fmt.Errorf("every: given %q, allowed is an hour (1h) or more, or off", d.Every)
	}
	keep := 0
	if d.Keep != "" && d.Keep != "off" {
		keep, err = strconv.Atoi(d.Keep)
		if err != nil || keep < 1 || keep > MaxKeep {
			return Schedule{}, fmt.Errorf("keep: given %q, allowed is a number from 1 to %d, or off", d.Keep, MaxKeep)
		}
	}
	return Schedule{Every: every, Keep: keep}, nil
}

// Text writes a schedule as ParseSchedule reads it.
func (s Schedule) Text() string {
	every, keep := "off", "off"
	if s.Every > 0 {
		every = config.FormatDuration(s.Every)
	}
	if s.Keep > 0 {
		keep = strconv.Itoa(s.Keep)
	}
	return fmt.Sprintf("every: %s\nkeep: %s\n", every, keep)
}
