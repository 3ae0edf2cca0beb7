// Package internal holds no code: its tests keep the rules of the tree
// (arch_test.go) and the truth of its documents (docs_test.go).
package internal
