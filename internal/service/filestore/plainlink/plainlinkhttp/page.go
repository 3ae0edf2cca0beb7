package plainlinkhttp

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"strconv"
	"time"

	"github.com/castalia-org/castalia/internal/platform/words"
	"github.com/castalia-org/castalia/internal/platform/words/wordshttp"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/plainlink"
)

// style is all that the pages look like. The policy of the pages names its hash.
const style = `:root{color-scheme:light dark}
body{background:Canvas;color:CanvasText;font:1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:0 auto;padding:1.5rem 1rem;overflow-wrap:anywhere}
h1{font-size:1.3rem;line-height:1.3}
a.get{display:inline-block;padding:.6rem 1.2rem;border-radius:.4rem;background:#1d4ed8;color:#fff;text-decoration:none}
a.get:focus-visible{outline:3px solid;outline-offset:2px}
input{display:block;margin:1rem 0;max-width:100%}
button{font:inherit;padding:.6rem 1.2rem;border:0;border-radius:.4rem;background:#1d4ed8;color:#fff}
button:focus-visible,input:focus-visible{outline:3px solid;outline-offset:2px}
.wrong{border-inline-start:4px solid #dc2626;padding-inline-start:.8rem}
nav ul{display:flex;flex-wrap:wrap;gap:0 1rem}nav li{border:0}
svg{display:block;max-width:15rem;height:auto}
ul{list-style:none;padding:0}li{display:flex;gap:1rem;justify-content:space-between;padding:.5rem 0;border-bottom:1px solid #8884}
small,.note{color:color-mix(in srgb,CanvasText 70%,Canvas)}`

var layout = template.Must(template.New("plainlink").Parse(`<!doctype html>
<html lang="{{.Code}}" dir="{{.Direction}}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex"><title>{{.Title}}</title><style>{{.Style}}</style></head>
<body><main><h1>{{if .Named}}<bdi>{{.Title}}</bdi>{{else}}{{.Title}}{{end}}</h1>
{{with .Text}}<p>{{.}}</p>{{end}}
{{with .Download}}<p><a class="get" href="{{.}}" download>{{$.Say "links.download"}}</a></p>{{end}}
{{with .Wrong}}<p class="wrong" role="alert">{{.}}{{with $.Detail}} <bdi lang="en">{{.}}</bdi>{{end}}</p>{{end}}
{{if .Arrived}}<p role="status">{{.Say "links.arrived"}}</p><ul>{{range .Arrived}}<li><bdi>{{.Name}}</bdi> <small>{{.Size}}</small></li>{{end}}</ul>{{end}}
{{if .Takes}}<form method="post" enctype="multipart/form-data"><label>{{.Say "links.choose"}}<input type="file" name="file" multiple required></label><button>{{.Say "links.submit"}}</button></form>{{end}}
{{if .Entries}}<ul>{{range .Entries}}<li><a dir="auto" href="{{.Href}}">{{.Name}}</a> <small>{{.Size}}</small></li>{{end}}</ul>{{end}}
{{if .More}}<p>{{.Say "links.more"}}</p>{{end}}
{{with .Note}}<p class="note">{{.}}</p>{{end}}
{{with .QR}}<details><summary>{{$.Say "links.code"}}</summary>{{.}}</details>{{end}}
</main>
<nav aria-label="{{.Say "page.languages"}}"><ul>{{range .Others}}<li><a href="?language={{.Code}}" lang="{{.Code}}" hreflang="{{.Code}}" dir="{{.Direction}}"{{if eq .Code $.Code}} aria-current="true"{{end}}>{{$.Called .}}</a></li>{{end}}</ul></nav>
</body></html>
`))

type page struct {
	wordshttp.Page
	Title, Text, Note string
	Named             bool // the title is a name that somebody gave, in whatever language
	Download          string
	Entries           []entry
	More              bool
	Style             template.CSS
	QR                template.HTML
	uploadPage
}

// uploadPage is what pages of links for uploads have besides.
type uploadPage struct {
	Takes   bool // there is a form
	Arrived []entry
	Wrong   string
	Detail  string // what the server says of it, in English
}

type entry struct{ Name, Href, Size string }

func filePage(in wordshttp.Page, link plainlink.Link, f filestore.File, secret string, now time.Time) page {
	below := f.Name
	if f.Path != link.Path {
		below = f.Path[len(path.Clean(link.Path+"/")):]
	}
	return page{
		Page: in, Title: f.Name, Named: true, Text: in.Size(f.Size), Download: address(secret, below) + "?dl=1",
		Note: until(in, link, now),
	}
}

// until says what having the link means, and how long it is good.
func until(in wordshttp.Page, link plainlink.Link, now time.Time) string {
	text := in.Say("links.mayRead")
	if link.MaxUses > 0 {
		text += " " + in.Language.Say("links.left", words.Values{"n": link.MaxUses - link.Uses})
	}
	if !link.Expires.IsZero() && link.Expires.After(now) {
		text += " " + in.Language.Say("links.ends", words.Values{"moment": in.Moment(link.Expires)})
	}
	return text
}

func writePage(w http.ResponseWriter, r *http.Request, status int, p page) error {
	p.Style = style
	form := "'none'"
	if p.Takes {
		form = "'self'"
	}
	var b bytes.Buffer
	if err := layout.Execute(&b, p); err != nil {
		return fmt.Errorf("write the page of a link: %w", err)
	}
	sum := sha256.Sum256([]byte(style))
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+
		"'; base-uri 'none'; form-action "+form+"; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, no-store")
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return nil
	}
	_, err := w.Write(b.Bytes())
	return err
}
