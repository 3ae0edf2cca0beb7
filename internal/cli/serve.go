package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/app"
	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/goruntime"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
)

func serveCommand() command {
	return command{
		name: "serve", args: "[--services ussd,filestore,oracle,query] [--port N] [--data FOLDER] [--config FILE] [--set NAME=value]",
		summary: "start the server; Ctrl-C drains and stops", run: runServe,
	}
}

func runServe(ctx context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("serve", s)
	var from settingFlags
	from.register(fs, s)
	selected := fs.String("services", "", "comma `LIST` of services that this node has; default is all")
	if err := shell.Parse(fs, args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return shell.Usagef("unexpected argument %q", fs.Arg(0))
	}
	settings, given, err := from.load(s)
	if err != nil {
		return err
	}
	preferHTTPS(&settings.Server, given)
	goruntime.Serve(s.Getenv)
	recent := &telemetry.Recent{}
	log := telemetry.NewLogger(s.Err, telemetry.Config{
		Level: settings.Server.LogLevel, Format: settings.Server.LogFormat, Recent: recent,
	})
	var services []string
	if *selected != "" {
		services = strings.Split(*selected, ",")
	}
	program, err := app.New(ctx, app.Options{
		Settings: settings, Given: given, Services: services, Plugins: from.plugins,
		Log: log, Recent: recent, Version: Version(), Getenv: s.Getenv, Documents: readsDocuments(),
	})
	if err != nil {
		if ctx.Err() != nil {
			log.Info("stopped before it was up", slog.String("event", "serve.stopped_early"), slog.Any("reason", err))
			return nil //nolint:nilerr // it was asked to stop, and did
		}
		return err
	}
	printBanner(s.Out, s.Terminal(), program, settings, services)
	if s.OutIsTerminal() {
		printSetupLink(ctx, program, log, s)
	}
	return program.Run(ctx)
}

// preferHTTPS fills in what follows from HTTPS_DOMAINS where nobody says otherwise: the port
// that browsers try first leads to HTTPS.
func preferHTTPS(s *config.Server, given []config.Setting) {
	for _, one := range given {
		if one.Name == "PORT" && one.Source == config.FromDefault && len(s.HTTPSDomains) > 0 {
			s.Port = 80
		}
	}
}

// printBanner says where everything is, for the person who just started it. Of
// the services it names those that were selected; none means all.
func printBanner(w io.Writer, colour bool, program *app.App, settings config.Settings, services []string) {
	bold, dim, off := "\x1b[1m", "\x1b[2m", "\x1b[0m"
	if !colour {
		bold, dim, off = "", "", ""
	}
	base := program.Secure()
	if base == "" {
		base = "http://" + reachable(program.Addr())
	}
	records, objects, hints := "SQLite in "+settings.Storage.Data, "files in "+settings.Storage.Data, "in process"
	if settings.Storage.Database.Given() {
		records = settings.Storage.Database.String()
	}
	if settings.Storage.Blobs.Given() {
		objects = settings.Storage.Blobs.String()
	}
	if settings.Storage.NATS.Given() {
		hints = settings.Storage.NATS.String()
	}
	at := "" // how a command of another shell finds this server
	if !strings.HasSuffix(base, ":"+shell.DefaultPort) {
		at = " --server " + base
	}
	of := func(service, where string) string {
		if len(services) > 0 && !slices.Contains(services, service) {
			return ""
		}
		return where
	}
	_, _ = fmt.Fprintf(w, "\n%sCastalia%s is up: %s%s%s\n\n", bold, off, bold, base, off)
	for _, line := range [][2]string{
		{"console", base + "/console/"},
		{"documentation", base + "/docs"},
		{"guides", base + "/guides"},
		{"telephone", of("ussd", "POST "+base+"/api/ussd, or: castalia dial"+at+" '*2233#'")},
		{"files", of("filestore", base+"/api/fs, or: castalia fs ls"+at)},
		{"agents", of("filestore", base+"/mcp, or: castalia mcp"+at)},
		{"oracle", of("oracle", base+"/sessions, or: castalia chat"+at)},
		{"health", base + "/health"},
		{"who may come", program.Access()},
		{"service DID", program.DID()},
		{"records", records},
		{"objects", objects},
		{"message bus", hints},
	} {
		if line[1] != "" {
			_, _ = fmt.Fprintf(w, "  %s%-14s%s %s\n", dim, line[0], off, line[1])
		}
	}
	_, _ = fmt.Fprint(w, "\nCtrl-C drains and stops.\n\n")
}

// reachable turns the wildcard address into one that a person can click.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}
