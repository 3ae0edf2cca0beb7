package app

import (
	"context"

	"github.com/castalia-org/castalia/internal/app/keyring"
	"github.com/castalia-org/castalia/internal/app/knowledgekit"
	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/contenthttp"
	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/knowledge/knowledgehttp"
)

// mostReaders is how many documents a node reads at once, on however many cores.
const mostReaders = 2

// buildKnowledge puts knowledge on the file store, whose folders are its
// collections: a node that has one has the other.
func (a *App) buildKnowledge(ctx context.Context, files *filestore.Service) (*knowledgekit.Kit, error) {
	keys, err := keyring.FilesOf(a.res.db, &a.opt.Settings)
	if err != nil {
		return nil, err
	}
	var (
		reader  knowledge.Reader
		readers int
	)
	if a.opt.Documents != nil {
		// Whoever waits for a place would be charged for what is read there.
		reader, readers = a.opt.Documents, min(a.opt.Documents.Places(), mostReaders)
	}
	embedder, err := knowledgekit.NewEmbedder(a.opt.Settings.Knowledge)
	if err != nil {
		return nil, err
	}
	return knowledgekit.New(ctx, knowledgekit.Deps{
		Embedder: embedder, Metrics: a.res.metrics,
		DB: a.res.db, Cold: a.cold, Outbox: a.res.outbox, Blobs: a.res.blobs, Bus: a.res.bus,
		Files: files, Reader: reader, Readers: readers,
		Member: a.access.door.IsMember, Held: a.identity.Held,
		Keys: keys, Node: a.res.node, Log: a.opt.Log, Now: a.res.now, Synonyms: a.documents.synonyms.Value,
		Quiet: &a.res.quiet, Changed: changedFiles,
		Surface: knowledgehttp.Deps{
			Identified: a.authenticated(identity.Oracle), Bearing: a.authenticated(identity.Files),
			Open: a.openCORS(), File: contenthttp.CORS(a.origins()), FileErrors: contenthttp.Errors,
		},
	}), nil
}
