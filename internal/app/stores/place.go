package stores

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/blob/blobdisk"
	"github.com/castalia-org/castalia/internal/platform/config"
)

// Place opens a place outside of the deployment that a setting names. Alone says that no
// other process uses it.
func Place(setting string, at config.URL, s *config.Settings, alone bool) (blob.Store, error) {
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
	case alone:
		return blobdisk.New(u.Path)
	}
	return blobdisk.Beside(u.Path), nil
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
