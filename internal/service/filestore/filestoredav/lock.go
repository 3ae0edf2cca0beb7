package filestoredav

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/protocol/webdav"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filename"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoredav/davstate"
)

// How long a lock may last without being refreshed.
const (
	defaultLock = 10 * time.Minute
	longestLock = time.Hour
)

// lockScheme begins the names of locks. Short ones matter: some clients have little
// room for a header with a lock and an entity tag.
const lockScheme = "urn:uuid:"

// holds fails unless one of the lists of the If header is met.
func (a *api) holds(c *call) error {
	if len(c.ifs) == 0 {
		return nil
	}
	for _, l := range c.ifs {
		met, err := a.met(c, l)
		if err != nil || met {
			return err
		}
	}
	return errUnmet
}

// met reports whether the conditions of a list hold of its resource.
func (a *api) met(c *call, l webdav.List) (bool, error) {
	path := c.path
	if l.Resource != "" {
		u, err := url.Parse(l.Resource)
		if err != nil {
			return false, nil //nolint:nilerr // nothing holds of what is no address
		}
		rest, ok := strings.CutPrefix(u.Path+"/", prefix+"/")
		if path, err = cleanPath(strings.TrimSuffix(rest, "/")); !ok || err != nil {
			return false, nil //nolint:nilerr // nor of what is not ours
		}
	}
	locks, err := a.State.Locks(c.Context(), c.access.Namespace, path, false, a.svc.Now())
	if err != nil {
		return false, err
	}
	f, err := a.find(c, path)
	if err != nil && !missing(err) {
		return false, err
	}
	tag := ""
	if err == nil {
		tag = f.etag()
	}
	for _, condition := range l.Conditions {
		is := condition.Tag != "" && condition.Tag == tag
		for _, lock := range locks {
			is = is || condition.Token == lock.Token
		}
		if is == condition.Not {
			return false, nil
		}
	}
	return true, nil
}

// unlocked fails when a lock is in the way of changing a path whose token was not
// submitted: a lock that holds for it, one on the folder that it is in when it would
// come or go, and those below it when all of it is meant. The access claims the same
// from then on: a lock that comes before the change is made is in its way too.
func (a *api) unlocked(c *call, path string, below bool) error {
	places := []filestore.LockPlace{{Path: path, Below: below}}
	if path != "/" {
		there, err := a.exists(c, path)
		if err != nil {
			return err
		}
		if below || !there { // it comes or goes
			places = append(places, filestore.LockPlace{Path: parent(path)})
		}
	}
	var locks []davstate.Lock
	for _, p := range places {
		on, err := a.State.Locks(c.Context(), c.access.Namespace, p.Path, p.Below, a.svc.Now())
		if err != nil {
			return err
		}
		locks = append(locks, on...)
	}
	submitted := c.ifs.Tokens()
	if !davstate.Free(locks, c.access.Invoker, submitted) {
		return errLocked
	}
	c.access.Claims = filestore.LockClaims{Places: append(c.access.Claims.Places, places...), Tokens: submitted}
	return nil
}

// unlockedForPut is unlocked for a file that is stored. The change asks for the locks
// again, and decides: to ask before saves the bytes, and is not worth it for few.
func (a *api) unlockedForPut(c *call) error {
	if c.ContentLength < 0 || c.ContentLength > filestore.InlineLimit {
		return a.unlocked(c, c.path, false)
	}
	// Whether it comes is seen there too: the folder that it is in must be free then.
	places := []filestore.LockPlace{{Path: c.path}, {Path: parent(c.path), Unless: c.path}}
	c.access.Claims = filestore.LockClaims{Places: append(c.access.Claims.Places, places...), Tokens: c.ifs.Tokens()}
	return nil
}

// timeout reads how long a lock shall last: the first time that is understood.
func timeout(header string) time.Duration {
	for part := range strings.SplitSeq(header, ",") {
		part = strings.TrimSpace(part)
		if strings.EqualFold(part, "Infinite") {
			return longestLock
		}
		text, ok := strings.CutPrefix(part, "Second-")
		if !ok {
			continue
		}
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 && n < math.MaxInt32 {
			return min(time.Duration(n)*time.Second, longestLock)
		} else if err == nil {
			return longestLock
		}
	}
	return defaultLock
}

func (a *api) lock(c *call) error {
	info, given, err := webdav.ParseLock(c.Body)
	if err != nil {
		return err
	}
	if !given {
		return a.refresh(c)
	}
	depth := c.Header().Get("Depth")
	if depth != "" && depth != "0" && !strings.EqualFold(depth, "infinity") {
		return fault.New(fault.Invalid, "A lock has depth 0 or infinity.")
	}
	if err := c.writable(); err != nil {
		return err
	}
	there, err := a.exists(c, c.path)
	if err != nil {
		return err
	}
	if !there {
		if err := a.inFolder(c, c.path); err != nil {
			return err
		}
		if err := a.unlocked(c, c.path, false); err != nil {
			return err
		}
	}
	now := a.svc.Now()
	l := davstate.Lock{
		Namespace: c.access.Namespace, Path: c.path, Token: lockScheme + filename.New(), Deep: depth != "0",
		Shared:   info.Shared,
		OwnerXML: info.Owner, Holder: c.access.Invoker, Timeout: timeout(c.Header().Get("Timeout")),
	}
	l.Expires = now.Add(l.Timeout)
	if len(l.OwnerXML) > davstate.MaxOwner {
		return fault.New(fault.TooLarge, "The owner of a lock is too long.")
	}
	if err := a.State.AddLock(c.Context(), l, now); err != nil {
		if errors.Is(err, davstate.ErrLocked) {
			return refusal{http.StatusLocked, "no-conflicting-lock"}
		}
		return err
	}
	if !there { // a lock on nothing makes an empty file
		access := c.access
		access.Claims = filestore.LockClaims{} // the place is its own by now
		_, err := a.svc.Put(c.Context(), access,
			filestore.Put{
				Path: c.path, Mode: filestore.Upsert, Body: strings.NewReader(""), If: filestore.Condition{None: true},
			})
		if err != nil && !fault.Is(err, fault.Precondition) {
			_ = a.State.RemoveLock(c.Context(), l) // it ends by itself too
			return err
		}
	}
	c.reply().Set("Lock-Token", "<"+l.Token+">")
	status := http.StatusOK
	if !there {
		status = http.StatusCreated
	}
	return c.granted(status, l)
}

// refresh makes a lock that the If header names last again.
func (a *api) refresh(c *call) error {
	now := a.svc.Now()
	locks, err := a.State.Locks(c.Context(), c.access.Namespace, c.path, false, now)
	if err != nil {
		return err
	}
	submitted := c.ifs.Tokens()
	for _, l := range locks {
		if !submitted[l.Token] || l.Holder != c.access.Invoker {
			continue
		}
		l.Timeout = timeout(c.Header().Get("Timeout"))
		l.Expires = now.Add(l.Timeout)
		if err := a.State.RenewLock(c.Context(), l); err != nil {
			return err
		}
		return c.granted(http.StatusOK, l)
	}
	return refusal{http.StatusPreconditionFailed, "lock-token-matches-request-uri"}
}

// granted answers with a lock.
func (c *call) granted(status int, l davstate.Lock) error {
	c.reply().Set("Content-Type", xmlMedia)
	c.WriteHeader(status)
	_, err := fmt.Fprintf(c.ResponseWriter, `%s<D:prop xmlns:D="DAV:"><D:lockdiscovery>%s</D:lockdiscovery></D:prop>`, xmlHead, activeLock(l))
	return gone(err)
}

func activeLock(l davstate.Lock) string {
	scope, depth := "exclusive", "0"
	if l.Shared {
		scope = "shared"
	}
	if l.Deep {
		depth = "infinity"
	}
	return fmt.Sprintf(`<D:activelock><D:locktype><D:write/></D:locktype><D:lockscope><D:%s/></D:lockscope><D:depth>%s</D:depth><D:owner>%s</D:owner>`+
		`<D:timeout>Second-%d</D:timeout><D:locktoken><D:href>%s</D:href></D:locktoken><D:lockroot><D:href>%s</D:href></D:lockroot></D:activelock>`,
		scope, depth, l.OwnerXML, int64(l.Timeout/time.Second), webdav.Escape(l.Token), webdav.Escape(href(l.Path, false)))
}

func (a *api) unlock(c *call) error {
	text := strings.TrimSpace(c.Header().Get("Lock-Token"))
	token := strings.TrimSuffix(strings.TrimPrefix(text, "<"), ">")
	if text != "<"+token+">" || token == "" {
		return fault.New(fault.Invalid, "The header Lock-Token is missing or malformed.")
	}
	locks, err := a.State.Locks(c.Context(), c.access.Namespace, c.path, false, a.svc.Now())
	if err != nil {
		return err
	}
	for _, l := range locks {
		if l.Token != token {
			continue
		}
		if l.Holder != c.access.Invoker && !whole(c.access) {
			return fault.New(fault.Forbidden, "Somebody else made this lock.")
		}
		if err := a.State.RemoveLock(c.Context(), l); err != nil {
			return err
		}
		return c.status(http.StatusNoContent)
	}
	return refusal{http.StatusConflict, "lock-token-matches-request-uri"}
}

// whole reports whether everything in the namespace may be changed: by its owner, or by whoever
// stands for them in all of it.
func whole(a filestore.Access) bool {
	return !a.Scoped && slices.ContainsFunc(a.Grants, func(g filestore.Grant) bool {
		return g.Abilities&filestore.All == filestore.All && g.Root == vfspath.Everything
	})
}
