package stores

import (
	"log/slog"
	"path/filepath"

	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/datadir"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/query/localchain"
)

// objectsName is the folder of objects in the data folder.
const objectsName = "objects"

// ObjectFolder is where the embedded shape keeps objects.
func ObjectFolder(s *config.Settings) string { return filepath.Join(s.Storage.Data, objectsName) }

// File is the database of the embedded shape.
func File(s *config.Settings) string { return filepath.Join(s.Storage.Data, sqldb.FileName) }

// Take takes the data folder for this process, and from other users of the machine,
// before a key is written into it. It says so, and what it could not take.
func Take(dir string, log *slog.Logger) (*datadir.Held, error) {
	held, err := datadir.Lock(dir)
	if err != nil {
		return nil, err
	}
	name, err := filepath.Abs(dir)
	if err != nil {
		name = dir
	}
	changed, err := datadir.Tighten(dir, sqldb.FileName, objectsName, localchain.SeedFile)
	if len(changed) > 0 {
		log.Warn("others could reach the data folder: it was taken from them. Change keys that they may have read", slog.String("event", "data_folder.tightened"),
			slog.String("folder", name), slog.Any("tightened", changed))
	}
	if err != nil {
		log.Warn("others can reach what is in the data folder", slog.String("event", "data_folder.exposed"), slog.String("folder", name), slog.Any("error", err))
	}
	return held, nil
}
