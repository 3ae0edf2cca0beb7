package cli

import (
	"github.com/castalia-org/castalia/internal/cli/fscli"
	"github.com/castalia-org/castalia/internal/cli/ucancli"
)

// commands is the explicit list of what the program can do, in the order in
// which help shows it. A new command is one line here and one file beside it.
func commands() []command {
	return []command{
		serveCommand(),
		{name: "key", args: ucancli.KeyUsage, summary: ucancli.KeySummary, run: ucancli.RunKey},
		{name: "ucan", args: ucancli.Usage, summary: ucancli.Summary, run: ucancli.Run},
		cidCommand(),
		{name: "fs", args: fscli.Usage, summary: fscli.Summary, run: fscli.Run},
		chatCommand(),
		{name: "mcp", args: fscli.MCPUsage, summary: fscli.MCPSummary, run: fscli.RunMCP},
		chainCommand(),
		dialCommand(),
		menuCommand(),
		membersCommand(),
		inviteCommand(),
		operatorCommand(),
		configCommand(),
		migrateCommand(),
		doctorCommand(),
		rotateCommand(),
		backupCommand(),
		restoreCommand(),
		versionCommand(),
		documentCommand(),
	}
}
