package app

import (
	"log/slog"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
	"github.com/castalia-org/castalia/internal/service/knowledge/document/docreader"
	"github.com/castalia-org/castalia/plugin"
)

// Options say what to build.
type Options struct {
	Settings config.Settings
	// Given are the settings as they are shown, with their sources.
	Given []config.Setting
	// Services selects which routes and workers this node has; empty means all.
	Services []string
	// Plugins are the oracle's; their settings are filled already.
	Plugins []plugin.Plugin
	Log     *slog.Logger
	// Recent remembers what Log was told; nil: nothing does.
	Recent  *telemetry.Recent
	Version string
	// Getenv returns a variable that documents of operators refer to; nil knows none.
	Getenv func(string) string
	// Documents reads documents apart from the program; nil reads none.
	Documents *docreader.Reader

	hooks
}

// hooks are for tests of this package that count work: fault is asked before each
// trip to the database, and objects wraps the object store.
type hooks struct {
	fault   func(sqldb.Stage) error
	objects func(blob.Store) blob.Store
}
