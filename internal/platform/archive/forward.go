package archive

import (
	"context"
	"fmt"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// sets are the migrations of a place, with those that every place has.
func (p Place) sets() []sqldb.Migrations {
	return append([]sqldb.Migrations{sqldb.Platform()}, p.Migrations...)
}

// entryOf is a migration as a manifest names it.
func entryOf(m sqldb.Migration) string {
	return fmt.Sprintf("%s %04d %s", m.Service, m.Version, m.Sum())
}

// migrateAs makes the tables as they were where the archive was made, so that its rows
// fit. Migrations that came later find them as they would have found them there.
func (p Place) migrateAs(ctx context.Context, m Manifest) error {
	missing := make(map[string]bool, len(m.Schema))
	for _, entry := range m.Schema {
		missing[entry] = true
	}
	last := make([]int64, len(p.sets()))
	texts := map[string]bool{} // of this program, without their sums
	for i, set := range p.sets() {
		state, err := p.DB.MigrationStatus(ctx, set)
		if err != nil {
			return err
		}
		for _, one := range state {
			entry := entryOf(one)
			texts[entry[:strings.LastIndexByte(entry, ' ')]] = true
			switch {
			case missing[entry]:
				delete(missing, entry)
				last[i] = one.Version
			case !one.Applied.IsZero():
				return fmt.Errorf("migration %04d of %s is applied here and not in the archive: it is restored into an empty database only", one.Version, one.Service)
			}
		}
	}
	for entry := range missing {
		if texts[entry[:max(0, strings.LastIndexByte(entry, ' '))]] {
			return fmt.Errorf("the archive was made by %s with other tables: restore it with that program", m.Program)
		}
		return fmt.Errorf("the archive was made by %s, which is newer than this program: restore it with that one", m.Program)
	}
	for i, set := range p.sets() {
		if last[i] == 0 {
			continue // it came later
		}
		if err := p.DB.MigrateTo(ctx, set, last[i]); err != nil {
			return err
		}
	}
	return nil
}

// migrate brings the tables up to date.
func (p Place) migrate(ctx context.Context) error {
	for _, set := range p.sets() {
		if err := p.DB.Migrate(ctx, set); err != nil {
			return err
		}
	}
	return nil
}
