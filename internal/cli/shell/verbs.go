package shell

import (
	"context"
	"maps"
	"slices"
)

// Verb is a subcommand of a command that works with a T: how many arguments it
// takes, and what it does with them.
type Verb[T any] struct {
	Least, Most int
	Run         func(t T, ctx context.Context, args []string) error
}

// Verbs are the subcommands of a command.
type Verbs[T any] map[string]Verb[T]

// Find returns the subcommand that args begin with; others are those that the
// command has beside these.
func (v Verbs[T]) Find(args []string, others ...string) (Verb[T], error) {
	if len(args) > 0 {
		if verb, ok := v[args[0]]; ok {
			return verb, nil
		}
	}
	names := slices.AppendSeq(others, maps.Keys(v))
	slices.Sort(names)
	return Verb[T]{}, NoSubcommand(args, names...)
}

// Check refuses too few and too many arguments.
func (v Verb[T]) Check(name string, args []string) error {
	if len(args) < v.Least || len(args) > v.Most {
		return Usagef("%s: %d arguments are too few or too many", name, len(args))
	}
	return nil
}
