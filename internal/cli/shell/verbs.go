package shell

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
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

// Do runs the subcommand that args begin with, or the one called usual where they begin
// with none. prepare makes what it works with, and declares its flags; others as in Find.
func (v Verbs[T]) Do(ctx context.Context, command, usual string, args []string, s IO,
	prepare func(flags *flag.FlagSet) T, others ...string,
) error {
	if usual != "" && (len(args) == 0 || strings.HasPrefix(args[0], "-")) {
		args = slices.Insert(slices.Clone(args), 0, usual)
	}
	verb, err := v.Find(args, others...)
	if err != nil {
		return err
	}
	name := command + " " + args[0]
	flags := NewFlags(name, s)
	with := prepare(flags)
	rest, err := ParseMixed(flags, args[1:])
	if err != nil {
		return err
	}
	if err := verb.Check(name, rest); err != nil {
		return err
	}
	return verb.Run(with, ctx, rest)
}

// Check refuses too few and too many arguments.
func (v Verb[T]) Check(name string, args []string) error {
	if len(args) < v.Least || len(args) > v.Most {
		return Usagef("%s takes %s, not %d", name, v.takes(), len(args))
	}
	return nil
}

// takes says how many arguments.
func (v Verb[T]) takes() string {
	switch {
	case v.Most == 0:
		return "no arguments"
	case v.Least == v.Most && v.Most == 1:
		return "one argument"
	case v.Least == v.Most:
		return fmt.Sprintf("%d arguments", v.Most)
	}
	return fmt.Sprintf("%d to %d arguments", v.Least, v.Most)
}
