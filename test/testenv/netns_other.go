//go:build !linux

package testenv

func noNamespaces(func(string) (string, error)) string { return "only Linux has network namespaces" }
