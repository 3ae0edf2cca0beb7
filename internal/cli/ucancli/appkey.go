package ucancli

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/appkey"
	"github.com/castalia-org/castalia/internal/identity/appkey/appkeyhttp"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ipld"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
	"github.com/castalia-org/castalia/internal/service/oracle/oracleclient"
)

// maker is whoever makes app keys, at a server.
type maker struct {
	*oracleclient.Client
	signer did.Signer
	server string
}

// makerFlags declares the flags of somebody at a server.
func makerFlags(fs *flag.FlagSet, s shell.IO) func(context.Context) (maker, error) {
	server := shell.ServerFlag(fs, s)
	key := shell.KeyFlag(fs, s)
	return func(ctx context.Context) (maker, error) {
		signer, err := shell.OwnSigner(*key, s)
		if err != nil {
			return maker{}, err
		}
		client, err := oracleclient.New(ctx, oracleclient.Config{Server: *server, Signer: signer})
		return maker{client, signer, strings.TrimRight(*server, "/")}, err
	}
}

func runAppKeyMake(ctx context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("key app", s)
	connect := makerFlags(fs, s)
	var cans shell.List
	name := fs.String("for", "", "`NAME` of the program, such as openwebui")
	fs.Var(&cans, "can", "`SCOPE`: oracle, knowledge, files, files:/PATH, files:write or files:write:/PATH; may be repeated (default oracle)")
	days := fs.Int("days", 90, "how many `DAYS` it lasts, at most 366")
	tokens := fs.Int64("tokens", 0, "how many `TOKENS` of models it may use in all; 0 is no limit")
	dollars := fs.Float64("dollars", 0, "how many US `DOLLARS` of models it may use in all; 0 is no limit")
	if err := shell.ParseFlags(fs, args); err != nil {
		return err
	}
	switch {
	case *name == "":
		return shell.Usagef("--for NAME is needed: which program is it for?")
	case *days < 1 || *days > 366:
		return shell.Usagef("--days must be from 1 to 366")
	case *tokens < 0 || !(*dollars >= 0 && *dollars <= 1e9): // a NaN is no amount either
		return shell.Usagef("a budget must not be less than 0")
	}
	if len(cans) == 0 {
		cans = shell.List{string(appkey.Oracle)}
	}
	// Mistakes are told before anybody is asked.
	if _, err := capabilitiesOf(cans, ""); err != nil {
		return err
	}
	m, err := connect(ctx)
	if err != nil {
		return err
	}
	made, err := m.make(ctx, *name, cans, *days,
		appkeyhttp.Amount{Tokens: *tokens, CostMicros: int64(math.Round(*dollars * 1e6))})
	if err != nil {
		return fmt.Errorf("make app key: %w", err)
	}
	_, _ = fmt.Fprintf(s.Err, "App key %q is made: %s, until %s. It is shown this once.\n"+
		"Give it to the program as its API key or password, with %s as the address; %s/v1/key tells it what it may do.\n"+
		"It ends with `castalia key revoke %s`; `castalia key apps` lists all.\n",
		made.Name, describe(made.Key), dayOf(made.Expires), m.server, m.server, made.Name)
	_, err = fmt.Fprintln(s.Out, made.Text)
	return err
}

func (m maker) make(ctx context.Context, name string, cans []string, days int,
	budget appkeyhttp.Amount,
) (made appkeyhttp.MadeKey, err error) {
	var offer appkeyhttp.Offer
	if err := m.Do(ctx, http.MethodPost, "/api/keys/offer", nil, &offer); err != nil {
		return made, err
	}
	holder, err := did.Parse(offer.Holder)
	if err != nil {
		return made, fmt.Errorf("the server's offer: %w", err)
	}
	capabilities, err := capabilitiesOf(cans, identity.NamespaceOf(string(m.signer.DID())))
	if err != nil {
		return made, err
	}
	token, err := ucan.Issue(m.signer,
		ucan.Statement{Audience: holder, Capabilities: capabilities, Expires: time.Now().AddDate(0, 0, days)})
	if err != nil {
		return made, err
	}
	err = m.Do(ctx, http.MethodPost, "/api/keys", appkeyhttp.NewKey{
		ID: offer.ID, Name: name, Delegation: token.Encode(), Budget: budget,
	}, &made)
	return made, err
}

// capabilitiesOf reads scopes as people write them.
func capabilitiesOf(cans []string, namespace string) ([]ucan.Capability, error) {
	var out []ucan.Capability
	for _, text := range cans {
		scope, rest, _ := strings.Cut(text, ":")
		switch appkey.Scope(scope) {
		case appkey.Oracle, appkey.Knowledge:
			if rest != "" {
				return nil, shell.Usagef("--can %s: %s has no parts", text, scope)
			}
			out = append(out, appkey.CapabilityOf(appkey.Scope(scope)))
			continue
		case appkey.Files:
		default:
			return nil, shell.Usagef("--can %s: expected oracle, knowledge, files, files:/PATH, files:write or files:write:/PATH", text)
		}
		abilities, path := []string{"fs/read"}, rest
		if !strings.HasPrefix(rest, "/") {
			var how string
			switch how, path, _ = strings.Cut(rest, ":"); how {
			case "write":
				abilities = []string{"fs/write", "fs/delete"}
			case "", "read":
			default:
				return nil, shell.Usagef("--can %s: files can be read or write", text)
			}
		}
		if path != "" && !strings.HasPrefix(path, "/") {
			return nil, shell.Usagef("--can %s: a path begins with /", text)
		}
		for _, can := range abilities {
			out = append(out, ucan.NewCapability(can, identity.FileResource(cmp.Or(namespace, "me"), path), ipld.Node{}))
		}
	}
	return out, nil
}

// describe says in a few words what a key may do.
func describe(k appkeyhttp.Key) string {
	var words []string
	for _, c := range k.Capabilities {
		if word := scopeWord(c); !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	if b := k.Budget; b != nil && b.Tokens > 0 {
		words = append(words, fmt.Sprintf("%d of %d tokens left", k.Left.Tokens, b.Tokens))
	}
	if b := k.Budget; b != nil && b.CostMicros > 0 {
		words = append(words, fmt.Sprintf("$%.2f of $%.2f left", float64(k.Left.CostMicros)/1e6, float64(b.CostMicros)/1e6))
	}
	return strings.Join(words, ", ")
}

// scopeWord writes a capability as --can takes it.
func scopeWord(c appkeyhttp.Capability) string {
	r, err := ucan.ParseResource(c.With)
	switch {
	case err != nil:
		return c.With
	case c.With == identity.OracleResource:
		return string(appkey.Oracle)
	case !r.File:
		return string(appkey.Knowledge)
	}
	word := string(appkey.Files)
	if c.Can != "fs/read" && c.Can != "fs/list" {
		word += ":write"
	}
	if r.Path != "/" {
		word += ":" + r.Path
	}
	return word
}

func dayOf(stamp string) string {
	at, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return stamp
	}
	return at.Local().Format(time.DateOnly)
}

func (m maker) list(ctx context.Context) ([]appkeyhttp.Key, error) {
	var list appkeyhttp.KeyList
	if err := m.Do(ctx, http.MethodGet, "/api/keys", nil, &list); err != nil {
		return nil, fmt.Errorf("list app keys: %w", err)
	}
	return list.Keys, nil
}

func runAppKeyList(ctx context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("key apps", s)
	connect := makerFlags(fs, s)
	raw := fs.Bool("json", false, "print what the server says")
	if err := shell.ParseFlags(fs, args); err != nil {
		return err
	}
	m, err := connect(ctx)
	if err != nil {
		return err
	}
	keys, err := m.list(ctx)
	if err != nil {
		return err
	}
	if *raw {
		return writeIndented(s, keys)
	}
	if len(keys) == 0 {
		_, err := fmt.Fprintln(s.Out, "You have no app keys. Make one with `castalia key app --for NAME`.")
		return err
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "NAME\tSTATE\tCAN\tUNTIL\tLAST USE")
	for _, k := range keys {
		used := "never"
		if at, err := time.Parse(time.RFC3339, k.LastUsed); err == nil {
			used = at.Local().Format("2006-01-02 15:04")
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", k.Name, k.State, describe(k), dayOf(k.Expires), used)
	}
	return w.Flush()
}

func runAppKeyRevoke(ctx context.Context, args []string, s shell.IO) error {
	fs := shell.NewFlags("key revoke", s)
	connect := makerFlags(fs, s)
	rest, err := shell.ParseMixed(fs, args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return shell.Usagef("expected the name of one app key")
	}
	m, err := connect(ctx)
	if err != nil {
		return err
	}
	keys, err := m.list(ctx)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if (k.Name == rest[0] || k.ID == rest[0]) && (k.State == "active" || k.State == "spent") {
			if err := m.Do(ctx, http.MethodDelete, "/api/keys/"+url.PathEscape(k.ID), nil, nil); err != nil {
				return fmt.Errorf("revoke app key: %w", err)
			}
			_, err := fmt.Fprintf(s.Out, "App key %q is revoked: whatever still has it is refused from now on.\n", k.Name)
			return err
		}
	}
	return fmt.Errorf("you have no app key %q that counts; `castalia key apps` lists them", rest[0])
}
