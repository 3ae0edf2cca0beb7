// Package addresskit puts together where the deployment is reached: the settings PUBLIC_URL and
// HTTPS_DOMAINS rule, else the document `address` that operators change.
//
// It promises that what can change while the program runs does, and that State says what waits
// for a restart: links and the names of certificates follow the document within a second, the port
// of HTTPS is opened and closed by a start alone. A document of operators keeps no program from
// starting: where the port cannot be opened, the program serves without it and says so.
//
// Decision: ADR 0295.
package addresskit

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/app/autohttps"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/platform/operatordoc/operatordocsql"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/yamlfile"
)

// DocumentName is that of the operators' document.
const DocumentName = "address"

const (
	maxDocument = 8 << 10 // bytes
	maxURL      = 500
	usualPort   = 443
	// The settings that rule over the document.
	publicURL, domains = "PUBLIC_URL", "HTTPS_DOMAINS"
)

// Address is where a deployment is reached.
type Address struct {
	// URL is what links begin with; empty: the first of the names, or as a proxy says.
	URL string `yaml:"url"`
	// HTTPS are the names that certificates are got for.
	HTTPS []string `yaml:"https"`

	port int
}

// Base is what links begin with: the address, or the first of the names. It may be empty.
func (a Address) Base() string {
	if a.URL != "" || len(a.HTTPS) == 0 {
		return strings.TrimSuffix(a.URL, "/")
	}
	return a.secure()
}

// secure is where the first of the names is served.
func (a Address) secure() string {
	base := "https://" + a.HTTPS[0]
	if a.port != usualPort {
		base += ":" + strconv.Itoa(a.port)
	}
	return base
}

// Text is the document that says it.
func (a Address) Text() string {
	names := make([]string, len(a.HTTPS))
	for i, name := range a.HTTPS {
		names[i] = strconv.Quote(name)
	}
	return "url: " + strconv.Quote(a.URL) + "\nhttps: [" + strings.Join(names, ", ") + "]\n"
}

// Parse reads the document.
func Parse(text []byte, from operatordoc.Source) (a Address, err error) {
	if err := yamlfile.Strict(text, &a, maxDocument); err != nil {
		return Address{}, err
	}
	if len(a.URL) > maxURL {
		return Address{}, errors.New("url is too long")
	}
	if err := config.CheckAddress(a.URL); a.URL != "" && err != nil {
		return Address{}, errors.New("url: " + err.Error())
	}
	err = autohttps.CheckNames(a.HTTPS)
	if err == nil && from == operatordoc.FromDatabase { // who sets a variable may run an authority of their own
		err = autohttps.CheckPublic(a.HTTPS)
	}
	if err != nil {
		return Address{}, errors.New("https: " + err.Error())
	}
	return a, nil
}

// Document is the document on the shelf of operators.
func Document(s config.Server) operatordoc.Definition[Address] {
	d := operatordoc.Definition[Address]{
		Name: DocumentName, Title: "Address", Media: "application/yaml", MaxBytes: maxDocument,
		Variable: domains + ", " + publicURL, BuiltIn: []byte(Address{}.Text()),
		Parse: func(text []byte, from operatordoc.Source) (Address, error) {
			a, err := Parse(text, from)
			a.port = s.HTTPSPort
			return a, err
		},
	}
	if s.PublicURL.Given() || len(s.HTTPSDomains) > 0 {
		d.Text = Address{URL: s.PublicURL.Reveal(), HTTPS: s.HTTPSDomains}.Text()
		switch {
		case len(s.HTTPSDomains) == 0:
			d.Variable = publicURL
		case !s.PublicURL.Given():
			d.Variable = domains
		}
	}
	return d
}

// AtStart reads what a program that starts now goes by, before there is a shelf. A stored text
// that cannot be read says nothing: the shelf tells what is wrong with it.
func AtStart(ctx context.Context, db *sqldb.DB, s config.Server) (Address, error) {
	d, from := Document(s), operatordoc.FromEnvironment
	text := []byte(d.Text)
	if len(text) == 0 {
		newest, err := operatordocsql.New(db).NewestVersion(ctx, DocumentName)
		if err != nil {
			return Address{}, err
		}
		if text, from = newest.Text, operatordoc.FromDatabase; newest.Removed || newest.Number == 0 {
			text = d.BuiltIn
		}
	}
	a, err := d.Parse(text, from)
	if err != nil && from == operatordoc.FromDatabase {
		return Address{}, nil // see above
	}
	return a, err
}

// Admin has what operators may know of the address.
type Admin struct {
	// Now is what holds, Started what this node began with.
	Now     *operatordoc.Document[Address]
	Started Address
	// HTTPS has the certificates where this node serves HTTPS; Problem is why it does not,
	// though it should.
	HTTPS   *autohttps.HTTPS
	Problem string
	Clock   func() time.Time
}

// State is the body of GET /operator/address.
type State struct {
	// URL is what links begin with now; empty: as a proxy says, or relative.
	URL string `json:"url,omitempty"`
	// GivenURL is what was chosen for it; empty: it follows from the names.
	GivenURL string `json:"givenUrl,omitempty"`
	// Names are those that certificates are got for.
	Names []autohttps.Name `json:"names"`
	// Source is environment, database or built in; Where names the settings that rule.
	Source   string `json:"source"`
	Where    string `json:"where,omitempty"`
	ReadOnly bool   `json:"readOnly"`
	// Serving says that this node answers by HTTPS; Problem why it does not, though it should.
	Serving bool   `json:"serving"`
	Problem string `json:"problem,omitempty"`
	// NeedsRestart says that something waits for a restart of this node; Waits says what: open_https,
	// close_https or links (those of the guide's answers, and what the embedded chain says of us).
	NeedsRestart bool     `json:"needsRestart"`
	Waits        []string `json:"waits"`
}

// The things that wait for a restart.
const (
	OpenHTTPS  = "open_https"
	CloseHTTPS = "close_https"
	Links      = "links"
)

// State says what holds, and what waits for a restart.
func (d *Admin) State(ctx context.Context) (State, error) {
	now, doc := d.Now.Value(), d.Now.State()
	s := State{
		URL: now.Base(), GivenURL: now.URL, Names: []autohttps.Name{}, Source: string(doc.Source), Where: doc.Where,
		ReadOnly: doc.ReadOnly(), Serving: d.HTTPS != nil, Problem: d.Problem, Waits: []string{},
	}
	switch {
	case d.HTTPS == nil:
		for _, name := range now.HTTPS {
			s.Names = append(s.Names, autohttps.Name{Name: name})
		}
		if len(now.HTTPS) > 0 {
			s.Waits = append(s.Waits, OpenHTTPS)
		} else {
			s.Problem = "" // nobody wants it any more
		}
	case len(now.HTTPS) == 0:
		s.Waits = append(s.Waits, CloseHTTPS)
	default:
		var err error
		if s.Names, err = d.HTTPS.States(ctx, d.Clock()); err != nil {
			return State{}, err
		}
	}
	if now.Base() != d.Started.Base() {
		s.Waits = append(s.Waits, Links)
	}
	s.NeedsRestart = len(s.Waits) > 0
	return s, nil
}

// Stored returns what operators stored for one of the settings, if the document holds it.
func (d *Admin) Stored(setting string) (value string, ok bool) {
	if d.Now.State().Source != operatordoc.FromDatabase {
		return "", false
	}
	switch now := d.Now.Value(); setting {
	case publicURL:
		return now.URL, true
	case domains:
		return strings.Join(now.HTTPS, ","), true
	}
	return "", false
}

// Secure is where people open what this node serves by HTTPS; empty where it does not.
func (d *Admin) Secure() string {
	if d.HTTPS == nil {
		return ""
	}
	return d.Started.secure()
}

// Surface has the route.
func (d *Admin) Surface() httpserver.Surface {
	return httpserver.Surface{Name: "address", Routes: []httpserver.Route{{
		Method: http.MethodGet, Pattern: "/operator/address", Auth: httpserver.Operator, Tags: []string{"Operators"},
		Summary: "Address and HTTPS",
		Doc: "Where the deployment is reached, which names have a certificate, and what waits for a restart of the node that answers. " +
			"It is changed as the document `address`: `url`, what links begin with, and `https`, the names that certificates are got for.",
		Replies: []httpserver.Reply{{Status: http.StatusOK, Body: State{}}},
		Handler: func(w http.ResponseWriter, r *http.Request) error {
			s, err := d.State(r.Context())
			if err != nil {
				return err
			}
			return httpserver.WriteJSON(w, http.StatusOK, s)
		},
	}}}
}
