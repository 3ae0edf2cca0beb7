package plainlinkhttp

import (
	"errors"
	"fmt"
	"html/template"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/words"
	"github.com/castalia-org/castalia/internal/platform/words/wordshttp"
	"github.com/castalia-org/castalia/internal/protocol/qrcode"
	"github.com/castalia-org/castalia/internal/service/filestore/contenthttp"
	"github.com/castalia-org/castalia/internal/service/filestore/plainlink"
)

// Arrived is a file that came by a link: what its sender knows of it, and its CID.
type Arrived struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	CID  string `json:"cid"`
}

// Arrivals are the files of a request, in their order.
type Arrivals struct {
	Files []Arrived `json:"files"`
}

func (a *api) uploadRoutes() []httpserver.Route {
	path := httpserver.Param{Name: "path", In: "path", Required: true, Doc: "The file's name."}
	route := func(method, pattern, summary string, h httpserver.Handler, params ...httpserver.Param) httpserver.Route {
		return httpserver.Route{
			Method: method, Pattern: Prefix + pattern, Summary: summary, Tags: []string{"Files"}, Auth: httpserver.Public,
			Limit:  httpserver.LimitContent,
			Params: append(params, secretParam), MaxBody: -1, Stream: true, // the link bounds the body
			Replies: []httpserver.Reply{{Status: 201, Body: Arrivals{}}, {Status: 410, Doc: "The link is over."}, {Status: 413, Doc: "The link does not take that many bytes (`link_full`)."}},
			Handler: func(w http.ResponseWriter, r *http.Request) error { return a.answer(w, r, h) },
		}
	}
	put := route(http.MethodPut, "/{secret}/{path...}", "Send a file by a link for uploads", a.takeBody, path)
	put.BodyMedia = []string{"*/*"}
	put.Params = append(put.Params, httpserver.Param{Name: "Content-Digest", In: "header", Doc: "Or Repr-Digest or Content-MD5: bytes that do not match are refused."})
	post := route(http.MethodPost, "/{secret}", "Send a form with files by a link for uploads", a.takeForm)
	post.BodyMedia = []string{contenthttp.FormMedia}
	below := route(http.MethodPost, "/{secret}/{path...}", post.Summary, a.takeForm, path) // where a slash is at the end
	below.BodyMedia, below.Hidden = post.BodyMedia, true
	return []httpserver.Route{put, post, below}
}

// openForUploads finds the link, which must be one for uploads.
func (a *api) openForUploads(r *http.Request) (plainlink.Link, error) {
	link, err := a.links.Open(r.Context(), r.PathValue("secret"))
	if err == nil && !plainlink.TakesUploads(link.Share) {
		err = fault.New(fault.Forbidden, "the link is for reading").WithCode("read_only")
	}
	return link, err
}

func (a *api) takeBody(w http.ResponseWriter, r *http.Request) error {
	link, err := a.openForUploads(r)
	if err != nil {
		return err
	}
	name := strings.Trim(r.PathValue("path"), "/")
	if name == "" {
		return fault.New(fault.Invalid, "the address has no name for the file")
	}
	arrived, err := a.take(r, link, name, textproto.MIMEHeader(r.Header), r.Body, max(r.ContentLength, 0))
	if err != nil {
		return err
	}
	return httpserver.WriteJSON(w, http.StatusCreated, Arrivals{[]Arrived{arrived}})
}

// take stores one file.
func (a *api) take(r *http.Request, link plainlink.Link, name string, h textproto.MIMEHeader, body io.Reader,
	size int64,
) (Arrived, error) {
	body, err := contenthttp.Digested(h, body)
	if err != nil {
		return Arrived{}, err
	}
	f, err := a.links.Take(r.Context(), link, plainlink.Upload{
		Name: name, MimeType: h.Get("Content-Type"), Size: size, Body: body,
	})
	if err != nil {
		return Arrived{}, err
	}
	return Arrived{name, f.Size, f.CID}, nil
}

// takeForm stores the files of a form, one after the other. The first that cannot be
// stored ends it; what came before stays, and the answer tells.
func (a *api) takeForm(w http.ResponseWriter, r *http.Request) error {
	link, err := a.openForUploads(r)
	if err != nil {
		return err
	}
	form, err := contenthttp.OpenForm(r)
	if err != nil {
		return err
	}
	var all []Arrived
	for err == nil {
		var part *multipart.Part
		if part, err = nextFile(form); err != nil {
			break
		}
		one, failed := a.take(r, link, part.FileName(), part.Header, part, 0)
		if failed != nil {
			e := fault.From(failed)
			err = fault.Wrap(e.Kind, part.FileName()+": "+e.Message, failed).WithCode(e.Code).WithRetryAfter(e.RetryAfter)
			break
		}
		all = append(all, one)
		link, err = a.openForUploads(r) // with what is left of it
		if over := fault.From(err); err != nil && over.Code == "link_over" {
			err = overUnlessDone(form, over)
		}
	}
	switch {
	case errors.Is(err, errDone) && len(all) == 0:
		err = fault.New(fault.Invalid, "the form has no file: a file is a part with a filename").WithCode("no_file")
	case errors.Is(err, errDone):
		err = nil
	}
	return a.tellOfForm(w, r, link, all, err)
}

// errDone is the end of a form.
var errDone = errors.New("the form is read")

// overUnlessDone is for a link that the last file used up: that is no failure when no
// further file comes.
func overUnlessDone(form *contenthttp.Form, over *fault.Error) error {
	if _, err := nextFile(form); errors.Is(err, errDone) {
		return errDone
	}
	return over
}

// nextFile returns the next file of a form. Where nobody chose a file, browsers send
// one without a name.
func nextFile(form *contenthttp.Form) (*multipart.Part, error) {
	for {
		part, isFile, err := form.Next()
		switch {
		case err == io.EOF: //nolint:errorlint // a form that was cut fails with an error that wraps this one
			return nil, errDone
		case err != nil:
			return nil, err
		case !isFile:
			return nil, fault.Newf(fault.Invalid, "the form has a field %q, which means nothing here: files are parts with a filename", part.FormName())
		case part.FileName() != "":
			return part, nil
		}
	}
}

// tellOfForm answers a form: with a page for people, else with what arrived.
func (a *api) tellOfForm(w http.ResponseWriter, r *http.Request, link plainlink.Link, all []Arrived,
	failed error,
) error {
	if !forPeople(r) {
		if failed == nil {
			return httpserver.WriteJSON(w, http.StatusCreated, Arrivals{all})
		}
		if len(all) > 0 && fault.KindOf(failed) != fault.Canceled {
			e := fault.From(failed)
			return fault.Wrap(e.Kind, e.Message, failed).WithCode(e.Code).WithField("files", all)
		}
		return failed
	}
	in := a.pages.Choose(w, r)
	var p uploadPage
	for _, one := range all {
		p.Arrived = append(p.Arrived, entry{Name: one.Name, Size: in.Size(one.Size)})
	}
	status := http.StatusOK
	if failed != nil {
		e := fault.From(failed)
		switch e.Kind {
		case fault.Invalid, fault.Forbidden, fault.Gone, fault.TooLarge, fault.StorageFull:
		default:
			return failed
		}
		status, p.Wrong = httpserver.Status(e.Kind), in.Say("links.notAll")
		if why := whyNot(e); why != "" {
			p.Wrong += " " + in.Say(why)
		} else {
			p.Detail = e.Message
		}
	}
	return a.showForm(w, r, status, link, in, p)
}

// whyNot names the text that says why a file was not taken; what is rare has none, and
// is shown as the server says it.
func whyNot(e *fault.Error) string {
	switch e.Code {
	case "link_full":
		return "links.full"
	case "quota_exceeded":
		return "links.noRoom"
	case "read_only":
		return "links.readOnly"
	case "digest_mismatch":
		return "links.damaged"
	case "no_file":
		return "links.noFile"
	case "link_over":
		return whyOver(e)
	}
	return ""
}

// showForm shows the page of a link for uploads: with its form, as long as it takes more.
func (a *api) showForm(w http.ResponseWriter, r *http.Request, status int, link plainlink.Link, in wordshttp.Page,
	up uploadPage,
) error {
	p := page{Page: in, Title: in.Say("links.send"), uploadPage: up}
	if link.ID != "" && link.State(a.svc.Now()) == "open" {
		p.Takes, p.Note = true, mayTake(in, link, a.svc.Now())
		p.Text = in.Say("links.goesTo")
		var err error
		if p.QR, err = a.code(r, in.Say("links.code")); err != nil {
			return err
		}
	}
	return writePage(w, r, status, p)
}

// mayTake says who may use a link for uploads, and how much it takes.
func mayTake(in wordshttp.Page, link plainlink.Link, now time.Time) string {
	left, size := link.MaxUses-link.Uses, in.Size(link.MaxBytes-link.Bytes)
	if link.Expires.IsZero() || !link.Expires.After(now) {
		return in.Language.Say("links.mayTake", words.Values{"n": left, "size": size})
	}
	return in.Language.Say("links.mayTakeUntil", words.Values{"n": left, "size": size, "moment": in.Moment(link.Expires)})
}

// linkAddress is the address of a link without any name, as short as it is.
func (a *api) linkAddress(r *http.Request) string {
	base := strings.TrimSuffix(a.baseURL, "/")
	if base == "" {
		base = httpserver.PublicBase(r)
	}
	return base + Prefix + "/" + r.PathValue("secret")
}

// code draws the QR code of a link, or nothing where nobody knows how we are reached.
func (a *api) code(r *http.Request, title string) (template.HTML, error) {
	address := a.linkAddress(r)
	if strings.HasPrefix(address, "/") {
		return "", nil
	}
	c, err := qrcode.Encode(address)
	if errors.Is(err, qrcode.ErrTooLong) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("draw the code of a link: %w", err)
	}
	return template.HTML(c.SVG(title)), nil //nolint:gosec // made here, of numbers and one of our words
}

// drawCode answers with the QR code alone. That is no use of the link.
func (a *api) drawCode(w http.ResponseWriter, r *http.Request) error {
	svg, err := a.code(r, a.pages.Choose(w, r).Say("links.code"))
	if err != nil {
		return err
	}
	if svg == "" {
		return fault.New(fault.NotFound, "there is no code: PUBLIC_URL does not say how this server is reached, or is too long")
	}
	h := w.Header()
	h.Set("Content-Type", "image/svg+xml")
	h.Set("Content-Length", strconv.Itoa(len(svg)))
	h.Set("Content-Security-Policy", "default-src 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, no-store")
	if r.Method == http.MethodHead {
		return nil
	}
	_, err = io.WriteString(w, string(svg))
	return err
}
