package stores

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/blob/blobdisk"
	"github.com/castalia-org/castalia/internal/platform/config"
)

// stale is how old something half written is that nobody writes any more.
const stale = 48 * time.Hour

// Place opens a place outside of the deployment that a setting names. One that writes makes
// its folder, and clears away what killed processes left there long ago.
func Place(setting string, at config.URL, s *config.Settings, writes bool) (blob.Store, error) {
	u, err := url.Parse(at.Reveal())
	if err != nil {
		return nil, fmt.Errorf("%s: it is no URL", setting)
	}
	switch {
	case u.Scheme == "s3":
		return S3(setting, at, s)
	case u.Scheme != "file" || u.Host != "" || !filepath.IsAbs(u.Path):
		return nil, fmt.Errorf("%s: given %s, allowed are file:///folder and s3://bucket/prefix", setting, at)
	case inside(u.Path, s.Storage.Data):
		return nil, fmt.Errorf("%s: %s is in the data folder, and would be lost with it", setting, u.Path)
	}
	store := blobdisk.Beside(u.Path) // several settings, or several deployments, may name one folder
	if !writes {
		return store, nil
	}
	if err := os.MkdirAll(u.Path, 0o700); err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	if err := store.ClearStale(time.Now().Add(-stale)); err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	return store, nil
}

// inside reports whether a path is in a folder.
func inside(path, folder string) bool {
	full, err := filepath.Abs(folder)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(full, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
