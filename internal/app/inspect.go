package app

import (
	"context"

	"github.com/castalia-org/castalia/internal/app/inspect"
	"github.com/castalia-org/castalia/internal/app/namekit"
	"github.com/castalia-org/castalia/internal/platform/audit"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// buildInspect makes what operators may look at.
func (a *App) buildInspect() part {
	a.inspected = inspect.Deps{
		Node: a.res.node, Settings: a.opt.Given, Documents: a.documents.shelf.States, Recent: a.opt.Recent,
		Stored: a.storedSetting, Trail: audit.New(a.res.db), Log: a.opt.Log,
	}
	return part{name: "inspect", surfaces: []httpserver.Surface{inspect.Surface(a.inspected)}}
}

// storedSetting is what operators stored in a document in place of a setting.
func (a *App) storedSetting(name string) (value string, ok bool) {
	if value, ok = namekit.Stored(a.documents.name, name); ok {
		return value, true
	}
	return a.address.Stored(name)
}

// recordAct is asked by the server, which is made before there is a trail and answers
// after it.
func (a *App) recordAct(ctx context.Context, who httpserver.OperatorIdentity, act,
	target string,
) (func(status int), error) {
	return a.inspected.Record(ctx, who, act, target)
}
