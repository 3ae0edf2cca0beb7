package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/cli/shell"
)

// completeWords is the command that shells ask what may come next.
const completeWords = "complete"

func completionCommand() command {
	return command{
		name: "completion", args: "bash | zsh | fish",
		summary: "print the script with which a shell completes castalia's commands", run: runCompletion,
	}
}

func completeCommand() command {
	return command{
		name: completeWords, args: "-- WORD…", summary: "print what may come next (shells call this)", hidden: true,
		run: func(ctx context.Context, args []string, s shell.IO) error {
			for _, word := range completions(ctx, args[min(1, len(args)):]) { // the first is the dashes
				_, _ = fmt.Fprintln(s.Out, word)
			}
			return nil
		},
	}
}

// completionScripts ask the program itself, so that they never grow old.
// Where it knows nothing, shells offer files.
var completionScripts = map[string]string{
	"bash": `# castalia in bash: source <(castalia completion bash)
_castalia() {
  local IFS=$'\n'
  COMPREPLY=($(castalia ` + completeWords + ` -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _castalia castalia
`,
	"zsh": `#compdef castalia
# castalia in zsh: source <(castalia completion zsh)
_castalia() {
  local -a next
  next=("${(@f)$(castalia ` + completeWords + ` -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "${next[1]}" ]]; then compadd -a next; else _files; fi
}
compdef _castalia castalia
`,
	"fish": `# castalia in fish: castalia completion fish | source
function __castalia_next
  set -l words (commandline -opc) (commandline -ct)
  castalia ` + completeWords + ` -- $words[2..] 2>/dev/null
end
complete -c castalia -a '(__castalia_next)'
`,
}

func runCompletion(_ context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("completion", s)
	rest, err := shell.ParseMixed(fs, args)
	if err != nil {
		return err
	}
	if len(rest) != 1 || completionScripts[rest[0]] == "" {
		return shell.NoSubcommand(rest, "bash", "zsh", "fish")
	}
	_, err = io.WriteString(s.Out, completionScripts[rest[0]])
	return err
}

// completions returns what the last of words may become: commands and
// subcommands by what their usage says, flags by asking the command for help.
func completions(ctx context.Context, words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	typed, before := words[len(words)-1], words[:len(words)-1]
	all := commands()
	var found []string
	switch i := slices.IndexFunc(all, func(c command) bool {
		return len(before) > 0 && c.name == before[0] && !c.hidden
	}); {
	case len(before) == 0 || isHelp(before[0]) && len(before) == 1:
		found = commandNames(all)
	case i < 0:
		return nil
	case strings.HasPrefix(typed, "-"):
		found = flagsOf(ctx, all[i], subcommandPath(all[i], before[1:]))
	default:
		found = subcommands(all[i], before[1:])
	}
	return slices.DeleteFunc(found, func(word string) bool { return !strings.HasPrefix(word, typed) })
}

// subcommands returns the words that may follow path in the usage of a command.
func subcommands(c command, path []string) []string {
	var next []string
	for form := range strings.SplitSeq(c.args, " | ") {
		words := strings.Fields(form)
		if len(words) <= len(path) || !slices.Equal(words[:len(path)], path) || !isSubcommand(words[len(path)]) {
			continue
		}
		if !slices.Contains(next, words[len(path)]) {
			next = append(next, words[len(path)])
		}
	}
	return next
}

// subcommandPath is the part of the words that names a subcommand, without
// flags and arguments.
func subcommandPath(c command, words []string) []string {
	var path []string
	for _, word := range words {
		if !slices.Contains(subcommands(c, path), word) {
			break
		}
		path = append(path, word)
	}
	return path
}

// isSubcommand tells a word to be typed as it stands from a place for one.
func isSubcommand(word string) bool {
	return word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz-") == "" && word[0] != '-'
}

// flagsOf asks a command for help and reads its flags there: only the command
// knows them.
func flagsOf(ctx context.Context, c command, path []string) []string {
	var help bytes.Buffer
	quiet := shell.IO{In: strings.NewReader(""), Out: &help, Err: io.Discard}
	_ = c.run(ctx, append(path, "--help"), quiet)
	flags := []string{"--help"}
	for line := range strings.Lines(help.String()) {
		if name, ok := strings.CutPrefix(line, "  --"); ok {
			name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
			flags = append(flags, "--"+name)
		}
	}
	return flags
}
