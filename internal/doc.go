// Package internal holds no code: its test, arch_test.go, keeps the rules of
// the tree below it.
package internal
