package people

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/appkey"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql"
	"github.com/castalia-org/castalia/internal/service/filestore/folder"
	"github.com/castalia-org/castalia/internal/service/knowledge"
	"github.com/castalia-org/castalia/internal/service/oracle"
	"github.com/castalia-org/castalia/internal/service/oracle/call"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/oracle/registry"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpeople"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
	"github.com/castalia-org/castalia/internal/service/webhook"
	"github.com/castalia-org/castalia/plugin"
)

// eraseSlice is how much is erased between two looks at the clock.
const eraseSlice = 50

// Services are those that keep something of people. What a node does not have is nil.
type Services struct {
	DB       *sqldb.DB
	Identity *identity.Service
	Keys     *appkey.Service
	Webhooks webhook.Store
	Chats    *oracle.Service
	// Calls lists somebody's calls behind one.
	Calls func(ctx context.Context, did, after string, limit int) ([]call.Record, error)
	// Missing reports whether a conversation is archived and its object is not as it was.
	Missing func(ctx context.Context, session string) (bool, error)
	// Archived reports whether a conversation is in the archive, without asking that.
	Archived func(ctx context.Context, session string) (bool, error)
	Plugins  *registry.Registry
	Files    *filestore.Service
	Folders  *folder.Service
	Know     *knowledge.Service
	Serves   func(service string) bool
	Now      func() time.Time
	Log      *slog.Logger
}

// Elsewhere names services whose records are here and which this node does not have.
func (s Services) Elsewhere(ctx context.Context) (names []string, err error) {
	for name, tables := range map[string]sqldb.Migrations{"filestore": filestoresql.Migrations(), "oracle": oraclesql.Migrations()} {
		if s.Serves(name) {
			continue
		}
		is, err := Migrated(ctx, s.DB, tables)
		if err != nil {
			return nil, err
		}
		if is {
			names = append(names, name)
		}
	}
	return names, nil
}

// Holdings are what the services keep of people, each erased as its owner would.
func (s Services) Holdings() []Holding {
	var list []Holding
	add := func(name string, erase func(ctx context.Context, did string) (int64, bool, error)) {
		list = append(list, Holding{Name: name, Erase: erase})
	}
	add("app keys", s.eraseKeys)
	add("webhooks", s.eraseWebhooks)
	add("telephone links", s.eraseLinks)
	if s.Chats != nil {
		// Their search index goes with the last of them.
		list = append(list, Holding{Name: "conversations", Erase: s.eraseConversations, Lost: s.lostConversations})
		list = append(list, Holding{Name: "memories and preferences", Erase: s.erasePlugins, Return: s.returnPlugins})
	}
	if s.Files != nil {
		add("collections", s.eraseCollections) // each with its index
		add("links to files", s.eraseShares)
		add("files", s.eraseFiles)
		add("folders", s.eraseFolders)
		add("search indexes of files", s.eraseIndex)
	}
	add("delegations", s.eraseDelegation)
	return list
}

// eraseIndex destroys what the search index has of files that were purged.
func (s Services) eraseIndex(ctx context.Context, did string) (n int64, _ bool, err error) {
	had, err := filestoresql.New(s.DB).DestroyIndex(ctx, identity.NamespaceOf(did), s.Now())
	if had {
		n = 1
	}
	return n, false, err
}

// lookTime bounds how long an archive is asked about what is erased anyway.
const lookTime = 2 * time.Second

// lostConversations names those of the next that are erased whose objects the archive has
// lost, and counts those of which it did not say in time: erasing does not need it.
func (s Services) lostConversations(ctx context.Context, did string) (saw Looked, err error) {
	some, _, err := s.Chats.Sessions(ctx, did, eraseSlice, 0)
	if err != nil {
		return saw, err
	}
	look, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	for _, session := range some {
		is, err := s.Missing(look, session.ID)
		if err != nil {
			archived, err := s.Archived(ctx, session.ID)
			if err != nil {
				return saw, err
			}
			if archived {
				saw.Unseen++
			}
		}
		if is {
			saw.Lost = append(saw.Lost, session.ID)
		}
	}
	return saw, nil
}

func (s Services) eraseKeys(ctx context.Context, did string) (n int64, _ bool, err error) {
	keys, err := s.Keys.List(ctx, did)
	if err != nil {
		return 0, false, err
	}
	for _, k := range keys {
		if !k.Revoked.IsZero() {
			continue
		}
		if _, err := s.Keys.Revoke(ctx, did, k.ID); err != nil {
			return n, false, err
		}
		n++
	}
	return n, false, nil
}

func (s Services) eraseWebhooks(ctx context.Context, did string) (n int64, _ bool, err error) {
	list, err := s.Webhooks.Endpoints(ctx, did)
	if err != nil {
		return 0, false, err
	}
	for _, e := range list {
		if err := s.Webhooks.Delete(ctx, did, e.ID); err != nil && !fault.Is(err, fault.NotFound) {
			return n, false, err
		}
		n++
	}
	return n, false, nil
}

// eraseLinks ends that telephones speak for the person.
func (s Services) eraseLinks(ctx context.Context, did string) (n int64, _ bool, err error) {
	if is, err := Migrated(ctx, s.DB, ussdsql.Migrations()); err != nil || !is {
		return 0, false, err
	}
	store := ussdsql.New(s.DB)
	links, err := store.Links(ctx, did)
	if err != nil {
		return 0, false, err
	}
	for _, l := range links {
		act := ussdpeople.Act{At: s.Now(), Actor: "operator", Act: ussdpeople.ActUnlink, Account: l.Account}
		if _, err := store.Unlink(ctx, did, act); err != nil {
			return n, false, err
		}
		n++
	}
	return n, false, nil
}

func (s Services) eraseConversations(ctx context.Context, did string) (n int64, more bool, err error) {
	some, _, err := s.Chats.Sessions(ctx, did, eraseSlice, 0)
	if err != nil {
		return 0, false, err
	}
	for _, session := range some {
		if err := s.Chats.DeleteSession(ctx, did, session.ID); err != nil && !errors.Is(err, oracle.ErrSessionNotFound) {
			return n, false, err
		}
		n++
	}
	return n, len(some) > 0, nil
}

// returnPlugins has plugins give back elsewhere what they are about to forget.
func (s Services) returnPlugins(ctx context.Context, did string) (left []string, err error) {
	for _, l := range s.Plugins.Loaded() {
		if p, ok := l.Plugin.(plugin.Returner); ok {
			more, err := p.ReturnUser(ctx, did)
			if err != nil {
				return nil, err
			}
			left = append(left, more...)
		}
	}
	return left, nil
}

func (s Services) erasePlugins(ctx context.Context, did string) (n int64, _ bool, err error) {
	for _, l := range s.Plugins.Loaded() {
		if p, ok := l.Plugin.(plugin.Forgetter); ok {
			gone, err := p.ForgetUser(ctx, did)
			if err != nil {
				return n, false, err
			}
			n += int64(gone)
		}
	}
	return n, false, nil
}

func (s Services) eraseCollections(ctx context.Context, did string) (n int64, _ bool, err error) {
	reach := reachOf(did)
	list, _, err := s.Know.Store.CollectionsOf(ctx, reach)
	if err != nil {
		return 0, false, err
	}
	for _, c := range list {
		err := s.Know.Delete(ctx, knowledge.Manager{Reach: reach, Owner: true}, c.ID)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return n, false, err
		}
		n++
	}
	return n, false, nil
}

func (s Services) eraseShares(ctx context.Context, did string) (n int64, more bool, err error) {
	owner := ownerOf(did)
	for offset := 0; ; offset += eraseSlice {
		list, err := s.Files.Shares(ctx, owner, filestore.Page{Limit: eraseSlice, Offset: offset})
		if err != nil {
			return n, false, err
		}
		for _, share := range list {
			if !share.Revoked.IsZero() {
				continue
			}
			if err := s.Files.EndShare(ctx, owner, share.ID); err != nil && !fault.Is(err, fault.NotFound) {
				return n, false, err
			}
			n++
		}
		if len(list) < eraseSlice || n > 0 {
			return n, len(list) == eraseSlice, nil
		}
	}
}

func reachOf(did string) knowledge.Reach {
	return knowledge.Reach{Namespace: identity.NamespaceOf(did), Areas: []vfspath.Area{vfspath.Whole()}}
}

func ownerOf(did string) filestore.Access { return filestore.Owner(identity.NamespaceOf(did)) }

// eraseFiles puts files into the trash and destroys what is there. What it counts is
// destroyed.
func (s Services) eraseFiles(ctx context.Context, did string) (n int64, more bool, err error) {
	owner := ownerOf(did)
	files, err := s.Files.ListAfter(ctx, owner, "", eraseSlice)
	if err != nil {
		return 0, false, err
	}
	for _, f := range files {
		if _, err := s.Files.Trash(ctx, owner, filestore.Target{ID: f.ID}); err != nil && !fault.Is(err, fault.NotFound) {
			return 0, false, err
		}
	}
	trash, err := s.Files.Trashed(ctx, owner, filestore.Page{Limit: eraseSlice})
	if err != nil {
		return 0, false, err
	}
	for _, f := range trash {
		if _, err := s.Files.Purge(ctx, owner, filestore.Target{ID: f.ID}); err != nil && !fault.Is(err, fault.NotFound) {
			return n, false, err
		}
		n++
	}
	return n, len(files)+len(trash) > 0, nil
}

// eraseFolders removes folders that were left empty.
func (s Services) eraseFolders(ctx context.Context, did string) (n int64, more bool, err error) {
	owner := ownerOf(did)
	nodes, _, err := s.Folders.Part(ctx, owner, "/", "", eraseSlice)
	if err != nil {
		return 0, false, err
	}
	for _, e := range nodes {
		if _, err := s.Folders.Trash(ctx, owner, "/"+e.Name, filestore.Once{}); err != nil && !fault.Is(err, fault.NotFound) {
			return n, false, err
		}
		n++
	}
	return n, n > 0, nil
}

func (s Services) eraseDelegation(ctx context.Context, did string) (n int64, _ bool, err error) {
	return 0, false, s.Identity.ForgetDelegation(ctx, did)
}
