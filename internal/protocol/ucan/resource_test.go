package ucan

import (
	"testing"

	"github.com/castalia-org/castalia/internal/protocol/ipld"
)

func TestResourceCovers(t *testing.T) {
	t.Parallel()
	const key = "did:key:z6Mkupw5FqjX2ob5Q8bNEnNvCPchkDhEhTmPoRZVcYWeVXZo"
	const escaped = "did%3Akey%3Az6Mkupw5FqjX2ob5Q8bNEnNvCPchkDhEhTmPoRZVcYWeVXZo"
	tests := []struct {
		granted, claimed string
		want             bool
	}{
		{"vfs://ixo1a", "vfs://ixo1a", true},
		{"vfs://ixo1a", "vfs://ixo1a/", true},
		{"vfs://ixo1a/", "vfs://ixo1a", true},
		{"vfs://ixo1a", "vfs://ixo1a/x/y", true},
		{"vfs://ixo1a", "vfs://ixo1a/*", true},
		{"vfs://ixo1a/*", "vfs://ixo1a/x", true},
		{"vfs://ixo1a/*", "vfs://ixo1a", false},
		{"vfs://ixo1a/x", "vfs://ixo1a/x/y", true},
		{"vfs://ixo1a/x", "vfs://ixo1a/xy", false},
		{"vfs://ixo1a/x", "vfs://ixo1a", false},
		{"vfs://ixo1a/x/*", "vfs://ixo1a/x/*", true},
		{"vfs://ixo1a/x/*", "vfs://ixo1a/x", false},
		{"vfs://ixo1a/x*", "vfs://ixo1a/xy", false},
		{"vfs://ixo1a*", "vfs://ixo1ab", false},
		{"VFS://ixo1a", "vfs://ixo1a", true},
		{"vfs://ixo1a", "vfs://IXO1A", false},
		{"vfs://ixo1a", "vfs://ixo1b", false},
		{"vfs://" + escaped, "vfs:///" + key + "/x", true},
		{"vfs:///" + key, "vfs://" + escaped, true},
		{"vfs://" + key, "vfs://" + escaped + "/x", true},
		{"vfs://ixo1a/a%20b", "vfs://ixo1a/a b/c", true},
		// Tricks never widen, on either side.
		{"vfs://ixo1a/x", "vfs://ixo1a/x/../y", false},
		{"vfs://ixo1a/x", "vfs://ixo1a/x/%2e%2e/y", false},
		{"vfs://ixo1a/x", "vfs://ixo1a/x/%252e%252e/y", false},
		{"vfs://ixo1a/x", "vfs://ixo1a/x/..%2fy", false},
		{"vfs://ixo1a/x", "vfs://ixo1a/x//y", false},
		{"vfs://ixo1a/x", "vfs://ixo1a//x", false},
		{"vfs://ixo1a/x", "vfs://ixo1a/x/./y", false},
		{"vfs://ixo1a/x", "vfs://ixo1a/x?y", false},
		{"vfs://ixo1a/x", "vfs://ixo1a/x#y", false},
		{"vfs://ixo1a", "vfs://ixo1a:80", false},
		{"vfs://ixo1a", "vfs://me@ixo1a", false},
		{"vfs://ixo1a/x/..", "vfs://ixo1a/y", false},
		{"vfs://ixo1a/x", "vfs://ixo1a%2Fx", false},
		{"vfs://ixo1a%00", "vfs://ixo1a%00", false},
		{"vfs:ixo1a", "vfs:ixo1a", false},
		{"vfs://", "vfs://", false},
		// The personal namespace and an entity's are different places.
		{"ixo:filesystem", "ixo:filesystem/x", true},
		{"ixo:filesystem/x", "ixo:filesystem/x/y", true},
		{"ixo:filesystem/x", "ixo:filesystem", false},
		{"ixo:filesystem", "ixo:filesystem/did:ixo:entity:e", false},
		{"ixo:filesystem/did:ixo:entity:e", "ixo:filesystem/did:ixo:entity:e/x", true},
		{"ixo:filesystem/did:ixo:entity:e", "ixo:filesystem/did:ixo:entity:ee", false},
		{"ixo:filesystem/*", "ixo:filesystem/x", true},
		{"ixo:filesystem/x/*", "ixo:filesystem/x/../y", false},
		{"ixo:filesystems", "ixo:filesystems/x", false},
		{"vfs://ixo1a", "ixo:filesystem", false},
		// Other resources: equal, or a pattern with a separator before its star.
		{"ixo:oracle", "ixo:oracle", true},
		{"ixo:oracle", "ixo:oracle:x", false},
		{"ixo:*", "ixo:oracle", true},
		{"ixo:o*", "ixo:oracle", false},
		{"ixo:oracle:d:mcp/s/*", "ixo:oracle:d:mcp/s/t", true},
		{"ixo:oracle:d:mcp/s/*", "ixo:oracle:d:mcp/s2/t", false},
		{"ixo:oracle:d:mcp/s", "ixo:oracle:d:mcp/s/t", false},
		{"ixo:a/*", "ixo:a/../b", false},
		{"ucan:*", "vfs://ixo1a/x", true},
		{"ucan:*", "vfs://ixo1a/x/..", false},
		{"vfs://ixo1a", "ucan:*", false},
	}
	for _, test := range tests {
		granted, err := ParseResource(test.granted)
		if err != nil {
			t.Errorf("%s: %v", test.granted, err)
			continue
		}
		claimed, err := ParseResource(test.claimed)
		if err != nil {
			if test.want {
				t.Errorf("%s: %v", test.claimed, err)
			}
			continue
		}
		if got := granted.Covers(claimed); got != test.want {
			t.Errorf("%s covers %s: %t", test.granted, test.claimed, got)
		}
	}
}

func TestResourceRefusesWhatIsNoURL(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "*", "x", "1x:y", ":", "vfs://user:ixo1alice", "vfs://a:b/c", "/a"} {
		if r, err := ParseResource(text); ReasonOf(err) != Malformed || err == nil {
			t.Errorf("%q: %+v, %v", text, r, err)
		}
	}
}

func TestAbilityCovers(t *testing.T) {
	t.Parallel()
	abilities := []string{"*", "fs/*", "fs/list", "fs/read", "fs/write", "fs/delete", "fs/re*", "mcp/call", "fsx/read"}
	covered := map[string]string{
		"*":         "* fs/* fs/list fs/read fs/write fs/delete fs/re* mcp/call fsx/read",
		"fs/*":      "fs/* fs/list fs/read fs/write fs/delete fs/re*",
		"fs/list":   "fs/list",
		"fs/read":   "fs/list fs/read",
		"fs/write":  "fs/list fs/read fs/write",
		"fs/delete": "fs/list fs/read fs/delete",
		"fs/re*":    "fs/re*",
		"mcp/call":  "mcp/call",
		"fsx/read":  "fsx/read",
	}
	for _, granted := range abilities {
		got := ""
		for _, claimed := range abilities {
			if AbilityCovers(granted, claimed) {
				if got != "" {
					got += " "
				}
				got += claimed
			}
		}
		if got != covered[granted] {
			t.Errorf("%s covers %q, want %q", granted, got, covered[granted])
		}
	}
}

// One place has several texts, which are read as one place; a text that readers
// would understand differently is none.
func TestResourceHasOneMeaning(t *testing.T) {
	t.Parallel()
	const key = "did:key:z6Mkupw5FqjX2ob5Q8bNEnNvCPchkDhEhTmPoRZVcYWeVXZo"
	const escaped = "did%3Akey%3Az6Mkupw5FqjX2ob5Q8bNEnNvCPchkDhEhTmPoRZVcYWeVXZo"
	for _, text := range []string{
		"vfs://" + escaped + "/a b", "vfs://" + escaped + "/a%20b", "vfs://" + escaped + "/a%20b/", "VFS://" + escaped + "/%61%20b",
		"vfs:///" + key + "/a b", "vfs://" + key + "/a b", "ixo:filesystem/" + key + "/a b", "ixo:filesystem/" + escaped + "/a%20b",
	} {
		if r, err := ParseResource(text); err != nil || r.Unsafe() || !r.File || r.Namespace != key || r.Path != "/a b" {
			t.Errorf("%s: %+v, %v", text, r, err)
		}
	}
	for _, text := range []string{
		"vfs://" + escaped + "//a b", "vfs://" + escaped + "/./a b", "vfs://" + escaped + "/x/../a b", "vfs://" + escaped + "/x%2f..%2fa b",
		"vfs://" + escaped + "/x/%252e%252e/a b", "vfs://" + escaped + "/a b?x", "vfs://" + escaped + "/a b#x", "vfs:" + escaped + "/a b",
		"vfs://u@" + escaped + "/a b", "vfs://" + escaped + "/a\tb", "vfs://" + escaped + "/a%0ab",
	} {
		if r, err := ParseResource(text); err == nil && !r.Unsafe() {
			t.Errorf("%s: %+v", text, r)
		}
	}
}

func TestAbilityHasOneSpelling(t *testing.T) {
	t.Parallel()
	for _, other := range []string{"FS/read", "fs/Read", "fs//read", "/fs/read", "fs/read/", "fs/read ", "fs%2Fread"} {
		if AbilityCovers(other, "fs/read") {
			t.Errorf("%q covers fs/read", other)
		}
	}
	if !AbilityCovers("fs/read", "fs/read") || NewCapability("FS/Read", "ixo:oracle", ipld.Node{}).Can != "fs/read" {
		t.Error("fs/read is not fs/read")
	}
}
