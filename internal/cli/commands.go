package cli

import (
	"github.com/castalia-org/castalia/internal/cli/backupcli"
	"github.com/castalia-org/castalia/internal/cli/doccli"
	"github.com/castalia-org/castalia/internal/cli/fscli"
	"github.com/castalia-org/castalia/internal/cli/hookcli"
	"github.com/castalia-org/castalia/internal/cli/knowcli"
	"github.com/castalia-org/castalia/internal/cli/mcpcli"
	"github.com/castalia-org/castalia/internal/cli/owecli"
	"github.com/castalia-org/castalia/internal/cli/peoplecli"
	"github.com/castalia-org/castalia/internal/cli/plugincli"
	"github.com/castalia-org/castalia/internal/cli/shipcli"
	"github.com/castalia-org/castalia/internal/cli/ucancli"
	"github.com/castalia-org/castalia/internal/cli/ussdcli"
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
		{name: "knowledge", args: knowcli.Usage, summary: knowcli.Summary, run: knowcli.Run},
		{name: "demo", args: knowcli.DemoUsage, summary: knowcli.DemoSummary, run: knowcli.RunDemo},
		chatCommand(),
		{name: "webhook", args: hookcli.Usage, summary: hookcli.Summary, run: hookcli.Run},
		{name: "mcp-server", args: mcpcli.Usage, summary: mcpcli.Summary, run: mcpcli.Run},
		{name: "mcp", args: fscli.MCPUsage, summary: fscli.MCPSummary, run: fscli.RunMCP},
		chainCommand(),
		dialCommand(),
		menuCommand(),
		{name: "ussd", args: ussdcli.Usage, summary: ussdcli.Summary, run: ussdcli.Run},
		{name: "access", args: doccli.AccessUsage, summary: doccli.AccessSummary, run: onDocuments(doccli.RunAccess)},
		{name: "address", args: doccli.AddressUsage, summary: doccli.AddressSummary, run: doccli.RunAddress},
		{name: "models", args: doccli.ModelsUsage, summary: doccli.ModelsSummary, run: doccli.RunModels},
		membersCommand(),
		inviteCommand(),
		{name: "people", args: peoplecli.Usage, summary: peoplecli.Summary, run: peoplecli.Run},
		{name: "operator", args: doccli.OperatorUsage, summary: doccli.OperatorSummary, run: onDocuments(doccli.RunOperator)},
		operatorsCommand(),
		{name: "claims", args: owecli.Usage, summary: owecli.Summary, run: owecli.Run},
		{name: "plugins", args: plugincli.Usage, summary: plugincli.Summary, run: runPlugins},
		setupLinkCommand(),
		usageCommand(),
		configCommand(),
		migrateCommand(),
		doctorCommand(),
		rotateCommand(),
		backupCommand(),
		restoreCommand(),
		{name: "backups", args: backupcli.Usage, summary: backupcli.Summary, run: backupcli.Run},
		replicaCommand(),
		{name: "health", args: shipcli.HealthUsage, summary: shipcli.HealthSummary, run: shipcli.RunHealth},
		{name: "settings", args: shipcli.SettingsUsage, summary: shipcli.SettingsSummary, run: shipcli.RunSettings},
		{name: "logs", args: shipcli.LogsUsage, summary: shipcli.LogsSummary, run: shipcli.RunLogs},
		{name: "audit", args: shipcli.AuditUsage, summary: shipcli.AuditSummary, run: shipcli.RunAudit},
		{name: "retention", args: shipcli.RetentionUsage, summary: shipcli.RetentionSummary, run: shipcli.RunRetention},
		{name: "verify", args: shipcli.VerifyUsage, summary: shipcli.VerifySummary, run: shipcli.RunVerify},
		completionCommand(),
		completeCommand(),
		versionCommand(),
		documentCommand(),
	}
}
