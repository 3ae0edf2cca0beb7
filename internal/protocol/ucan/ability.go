package ucan

import "strings"

// AnyAbility grants everything.
const AnyAbility = "*"

// validAbility accepts "*" and names with a slash inside.
func validAbility(can string) bool {
	if can == AnyAbility {
		return true
	}
	return strings.IndexByte(can, '/') > 0 && !strings.HasSuffix(can, "/")
}

// AbilityCovers reports whether the granted ability includes the claimed one:
// equal, "*", the pattern "ns/*", or by the lattice of file abilities, in which
// fs/write and fs/delete include fs/read, and fs/read includes fs/list.
func AbilityCovers(granted, claimed string) bool {
	if granted == claimed || granted == AnyAbility {
		return true
	}
	if prefix, ok := strings.CutSuffix(granted, "*"); ok && strings.HasSuffix(prefix, "/") {
		return strings.HasPrefix(claimed, prefix)
	}
	switch granted {
	case "fs/write", "fs/delete":
		return claimed == "fs/read" || claimed == "fs/list"
	case "fs/read":
		return claimed == "fs/list"
	}
	return false
}
