package sqldb

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// FileName is the database's name in the data folder.
const FileName = "castalia.db"

// Address turns DATABASE_URL into what Open takes. Empty means the database in
// the data folder; a path, with or without "sqlite:", is taken from there.
func Address(databaseURL, dataFolder string) (string, error) {
	if databaseURL == "" {
		databaseURL = FileName
	}
	scheme, rest, found := strings.Cut(databaseURL, ":")
	switch {
	case found && (scheme == "postgres" || scheme == "postgresql"):
		return databaseURL, nil
	case found && scheme == "sqlite":
		databaseURL = rest
	case strings.Contains(databaseURL, "://"):
		return "", fmt.Errorf("DATABASE_URL starts with %q, want postgres:// or the path of a file", scheme)
	}
	if databaseURL == "" {
		return "", errors.New("DATABASE_URL names no file")
	}
	if filepath.IsAbs(databaseURL) {
		return "sqlite:" + databaseURL, nil
	}
	return "sqlite:" + filepath.Join(dataFolder, databaseURL), nil
}

// Redact returns the address without its password, for people to read.
func Redact(address string) string {
	if strings.HasPrefix(address, "sqlite:") {
		return address
	}
	u, err := url.Parse(address)
	if err != nil {
		return "postgres://…"
	}
	q := u.Query()
	if q.Has("password") {
		q.Set("password", "xxxxx")
		u.RawQuery = q.Encode()
	}
	return u.Redacted()
}
