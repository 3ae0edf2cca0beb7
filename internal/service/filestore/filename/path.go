package filename

import (
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
)

// CleanPath is vfspath.Clean for whoever asked with the path: what it refuses is
// Invalid and says why.
func CleanPath(path string) (string, error) { return pathOr(vfspath.Clean(path)) }

// CleanFolder is vfspath.CleanFolder, as CleanPath is vfspath.Clean.
func CleanFolder(path string) (string, error) { return pathOr(vfspath.CleanFolder(path)) }

func pathOr(path string, err error) (string, error) {
	if err != nil {
		return "", Bad(err.Error())
	}
	return path, nil
}

// Bad refuses a path.
func Bad(why string) error { return fault.New(fault.Invalid, why).WithCode("bad_path") }
