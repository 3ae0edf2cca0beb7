package backup

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/castalia-org/castalia/internal/platform/archive"
	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/fault"
)

// What is stored for a backup, behind its name.
const (
	archiveEnd = ".tar.age"
	recordEnd  = ".json"
	checkEnd   = ".check.json"
)

const (
	// maxRecord bounds what is read of a record.
	maxRecord = 64 << 10
	// MaxListed is how many backups are shown, the newest.
	MaxListed = 100
	// maxKeys bounds what is looked at of a place.
	maxKeys = 50_000
	// readers is how many records are read at once.
	readers = 8
)

// Place is where backups go.
type Place struct {
	// Open returns the store, which other deployments may use too.
	Open func() (blob.Store, error)
	// Lock is for whom archives are encrypted.
	Lock archive.Lock
	// Key is the deployment's: records carry a code under it.
	Key []byte
	// Deployment is its name in the names of backups: eight hexadecimal digits.
	Deployment string
}

// Backup is the record of a whole archive.
type Backup struct {
	Name string `json:"name"`
	// Made is when it was begun: what was written later may not be in it.
	Made   time.Time `json:"made"`
	Ended  time.Time `json:"ended"`
	Size   int64     `json:"size"`
	SHA256 string    `json:"sha256"`
	// Program is the version that made it.
	Program string `json:"program"`
	// Objects, Pieces (of tables) and Keys are what is in it.
	Objects int `json:"objects"`
	Pieces  int `json:"pieces"`
	Keys    int `json:"keys"`
	// Recipients is for how many keys it is encrypted.
	Recipients int `json:"recipients"`
}

// Check is what somebody found out about a backup.
type Check struct {
	Name string    `json:"name"`
	At   time.Time `json:"at"`
	By   string    `json:"by"`
	// Restored says that it was opened and restored for trial, by whoever has the key; else
	// its bytes were compared with what was written.
	Restored bool `json:"restored"`
	// Problem is what was wrong; empty is nothing.
	Problem string `json:"problem,omitempty"`
}

var namePattern = regexp.MustCompile(`^castalia-(\d{8}T\d{6}Z)-([0-9a-f]{8})-\d{1,19}$`)

// nameOf names a backup by its time, so that names are in its order, by its deployment, and
// by the epoch of the lease: a node that was paused and lost it writes under another name
// than the next one.
func (p *Place) nameOf(at time.Time, epoch int64) string {
	return fmt.Sprintf("castalia-%s-%s-%d", at.UTC().Format("20060102T150405Z"), p.Deployment, epoch)
}

// ours reports whether a name is one of this deployment.
func (p *Place) ours(name string) bool {
	m := namePattern.FindStringSubmatch(name)
	return m != nil && m[2] == p.Deployment
}

// known refuses names that no backup of this deployment has.
func (p *Place) known(name string) error {
	if !p.ours(name) {
		return fault.New(fault.NotFound, "No such backup")
	}
	return nil
}

// coded is a record as it is stored.
type coded struct {
	Record json.RawMessage `json:"record"`
	Code   string          `json:"code"`
}

func (p *Place) code(key string, record []byte) string {
	mac := hmac.New(sha256.New, p.Key)
	_, _ = fmt.Fprintf(mac, "castalia backup\n%s\n", key)
	mac.Write(record)
	return hex.EncodeToString(mac.Sum(nil))
}

func (p *Place) putRecord(ctx context.Context, to blob.Store, key string, record any) error {
	text, err := json.Marshal(record)
	if err != nil {
		return err
	}
	whole, err := json.Marshal(coded{text, p.code(key, text)})
	if err != nil {
		return err
	}
	_, err = to.Put(ctx, key, bytes.NewReader(whole), blob.Sized(int64(len(whole))))
	return err
}

// errRecord says that a record is not one that this deployment wrote.
var errRecord = errors.New("its record was not written by this deployment")

func (p *Place) record(ctx context.Context, from blob.Store, key string, into any) error {
	body, err := from.Get(ctx, key, 0, maxRecord)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(body, maxRecord))
	if err = errors.Join(err, body.Close()); err != nil {
		return err
	}
	var whole coded
	if err := json.Unmarshal(text, &whole); err != nil {
		return errRecord
	}
	if !hmac.Equal([]byte(whole.Code), []byte(p.code(key, whole.Record))) {
		return errRecord
	}
	return json.Unmarshal(whole.Record, into)
}

// content is what a place has, by name: of this deployment, archives by their length and
// whether there is a record and a check; and how many archives are of others.
type content struct {
	archives map[string]int64
	records  map[string]bool
	checks   map[string]bool
	others   int
}

func (p *Place) look(ctx context.Context, at blob.Store) (content, error) {
	c := content{archives: map[string]int64{}, records: map[string]bool{}, checks: map[string]bool{}}
	seen := 0
	for info, err := range at.List(ctx, "castalia-") {
		if err != nil {
			return c, fmt.Errorf("list backups: %w", err)
		}
		if seen++; seen > maxKeys {
			return c, fmt.Errorf("there are more than %d objects at the place of backups: give them one of their own", maxKeys)
		}
		name, end, _ := strings.Cut(info.Key, ".")
		switch {
		case !namePattern.MatchString(name):
		case !p.ours(name):
			if "."+end == archiveEnd {
				c.others++
			}
		case "."+end == archiveEnd:
			c.archives[name] = info.Size
		case "."+end == recordEnd:
			c.records[name] = true
		case "."+end == checkEnd:
			c.checks[name] = true
		}
	}
	return c, nil
}

// named are the names of backups that have a record, the newest first.
func (c content) named() []string {
	var names []string
	for name := range c.archives {
		if c.records[name] {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(b, a) })
	return names
}

// whole reads the record of a backup; nil is no backup: it is not whole, or not ours.
func (p *Place) whole(ctx context.Context, at blob.Store, c content, name string) (*Backup, error) {
	var b Backup
	err := p.record(ctx, at, name+recordEnd, &b)
	switch {
	case errors.Is(err, errRecord), errors.Is(err, blob.ErrNotFound):
		return nil, nil //nolint:nilnil // no backup
	case err != nil:
		return nil, fmt.Errorf("read record of %s: %w", name, err)
	case b.Name != name || b.Size != c.archives[name]:
		return nil, nil //nolint:nilnil // no backup
	}
	return &b, nil
}

// newest returns the newest backup, nil where there is none, and the names of those that
// are dated in the future, which do not count.
func (p *Place) newest(ctx context.Context, now time.Time) (last *Backup, ahead []string, err error) {
	at, err := p.Open()
	if err != nil {
		return nil, nil, err
	}
	c, err := p.look(ctx, at)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range c.named() {
		b, err := p.whole(ctx, at, c, name)
		switch {
		case err != nil:
			return nil, nil, err
		case b == nil:
		case b.Made.After(now):
			ahead = append(ahead, name)
		default:
			return b, ahead, nil
		}
	}
	return nil, ahead, nil
}

// Listed is a backup with what is known of it.
type Listed struct {
	Backup
	Check *Check `json:"check,omitempty"`
}

// Listing is what is at the place.
type Listing struct {
	// Backups are whole, the newest first, at most MaxListed of them.
	Backups []Listed `json:"backups"`
	// Total is how many there are, Bytes how much room they take.
	Total int   `json:"total"`
	Bytes int64 `json:"bytes"`
	// Others is how many archives at the place are not this deployment's.
	Others int `json:"others,omitempty"`
}

// List returns what is at the place.
func (p *Place) List(ctx context.Context) (Listing, error) {
	list := Listing{Backups: []Listed{}}
	at, err := p.Open()
	if err != nil {
		return list, err
	}
	c, err := p.look(ctx, at)
	if err != nil {
		return list, err
	}
	names := c.named()
	list.Total, list.Others = len(names), c.others
	for _, name := range names {
		list.Bytes += c.archives[name]
	}
	names = names[:min(len(names), MaxListed)]
	found, errs := make([]*Listed, len(names)), make([]error, len(names))
	next := make(chan int)
	var reading sync.WaitGroup
	for range min(readers, len(names)) {
		reading.Go(func() {
			for i := range next {
				found[i], errs[i] = p.listed(ctx, at, c, names[i])
			}
		})
	}
	for i := range names {
		next <- i
	}
	close(next)
	reading.Wait()
	for i, one := range found {
		if one == nil {
			list.Total--
			list.Bytes -= c.archives[names[i]]
			continue
		}
		list.Backups = append(list.Backups, *one)
	}
	return list, errors.Join(errs...)
}

func (p *Place) listed(ctx context.Context, at blob.Store, c content, name string) (*Listed, error) {
	b, err := p.whole(ctx, at, c, name)
	if b == nil || err != nil {
		return nil, err
	}
	one := &Listed{Backup: *b}
	if !c.checks[name] {
		return one, nil
	}
	var check Check
	err = p.record(ctx, at, name+checkEnd, &check)
	switch {
	case err == nil && check.Name == name:
		one.Check = &check
	case err != nil && !errors.Is(err, errRecord) && !errors.Is(err, blob.ErrNotFound):
		return nil, err
	}
	return one, nil
}

// Find returns a backup.
func (p *Place) Find(ctx context.Context, name string) (Backup, error) {
	if err := p.known(name); err != nil {
		return Backup{}, err
	}
	at, err := p.Open()
	if err != nil {
		return Backup{}, err
	}
	info, err := at.Stat(ctx, name+archiveEnd)
	if errors.Is(err, blob.ErrNotFound) {
		return Backup{}, p.known("")
	}
	if err != nil {
		return Backup{}, err
	}
	b, err := p.whole(ctx, at, content{archives: map[string]int64{name: info.Size}}, name)
	if err != nil {
		return Backup{}, err
	}
	if b == nil {
		return Backup{}, p.known("")
	}
	return *b, nil
}

// Content opens the archive of a backup, encrypted as it is.
func (p *Place) Content(ctx context.Context, name string) (Backup, io.ReadCloser, error) {
	b, err := p.Find(ctx, name)
	if err != nil {
		return b, nil, err
	}
	at, err := p.Open()
	if err != nil {
		return b, nil, err
	}
	body, err := at.Get(ctx, name+archiveEnd, 0, -1)
	return b, body, err
}

// Archive opens the archive of a backup for whoever is to restore it: it ends before its
// last bytes, with an error, when it is not what was written.
func (p *Place) Archive(ctx context.Context, name string) (Backup, io.ReadCloser, error) {
	b, body, err := p.Content(ctx, name)
	if err != nil {
		return b, nil, err
	}
	return b, &unchanged{ReadCloser: body, sum: sha256.New(), left: b.Size, want: b.SHA256}, nil
}

// errChanged says that an archive is not the one that its record is of.
var errChanged = errors.New("the archive is not what was written: its SHA-256 differs")

// unchanged withholds the end of a content that has another sum than it should.
type unchanged struct {
	io.ReadCloser
	sum  hash.Hash
	left int64
	want string
}

func (u *unchanged) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	_, _ = u.sum.Write(p[:n])
	u.left -= int64(n)
	if (u.left <= 0 || errors.Is(err, io.EOF)) && hex.EncodeToString(u.sum.Sum(nil)) != u.want {
		return 0, errChanged
	}
	return n, err
}

// Note writes down what somebody found out about a backup.
func (p *Place) Note(ctx context.Context, c Check) error {
	if err := p.known(c.Name); err != nil {
		return err
	}
	at, err := p.Open()
	if err != nil {
		return err
	}
	return p.putRecord(ctx, at, c.Name+checkEnd, c)
}
