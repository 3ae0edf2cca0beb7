package ussddialect

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/castalia-org/castalia/internal/platform/yamlfile"
	"github.com/castalia-org/castalia/internal/service/ussd"
)

// The bounds of a file.
const (
	maxSource    = 64 << 10
	maxTemplate  = 8 << 10
	maxExtension = 4
	maxWords     = 16
	maxPath      = 100
)

// Dialect is how one gateway speaks.
type Dialect struct {
	src            source
	goOn, end      template
	wanted, echoed map[string]bool // paths of the request that are read
}

// source is the file.
type source struct {
	Name    string  `yaml:"name"`
	About   string  `yaml:"about"`
	Request request `yaml:"request"`
	Answer  answer  `yaml:"answer"`
}

type request struct {
	Method    string `yaml:"method"`
	Fields    string `yaml:"fields"`
	Session   string `yaml:"session"`
	Phone     string `yaml:"phone"`
	Code      string `yaml:"code"`
	Input     string `yaml:"input"`
	Typed     string `yaml:"typed"`
	Extension int    `yaml:"extension"`
	Dialled   bool   `yaml:"dialled"`
	Sequence  string `yaml:"sequence"`
	Start     *sign  `yaml:"start"`
	Over      *sign  `yaml:"over"`
}

// sign is a field whose value tells something.
type sign struct {
	Field string   `yaml:"field"`
	Is    []string `yaml:"is"`
}

type answer struct {
	Media    string `yaml:"media"`
	Continue string `yaml:"continue"`
	End      string `yaml:"end"`
}

// The words of a file.
const (
	methodGet, methodPost                          = "GET", "POST"
	fieldsQuery, fieldsForm, fieldsJSON, fieldsXML = "query", "form", "json", "xml"
	typedAll, typedNewest                          = "all", "newest"
)

// IssueError is what is wrong with a file, and where.
type IssueError struct {
	File    string
	Line    int
	Message string
}

// Error writes the issue the way editors read it.
func (e *IssueError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message) }

// Parse reads a dialect. The file's name is for messages only.
func Parse(file string, text []byte) (*Dialect, error) {
	d := &Dialect{wanted: map[string]bool{}, echoed: map[string]bool{}}
	if err := yamlfile.Strict(text, &d.src, maxSource); err != nil {
		return nil, syntax(file, err)
	}
	tree, err := yamlfile.Tree(text, maxSource)
	if err != nil {
		return nil, syntax(file, err)
	}
	c := &checker{file: file, lines: map[string]int{}}
	for _, doc := range tree.Docs {
		c.index("", doc.Body)
	}
	if err := c.check(d); err != nil {
		return nil, err
	}
	return d, nil
}

// strictLine is how yamlfile.Strict begins when it knows the line.
var strictLine = regexp.MustCompile(`^line (\d{1,6}): `)

func syntax(file string, err error) error {
	issue := &IssueError{File: file, Line: 1, Message: err.Error()}
	if located, ok := errors.AsType[yaml.Error](err); ok {
		issue.Message, _, _ = strings.Cut(located.GetMessage(), "\n")
		if t := located.GetToken(); t != nil && t.Position != nil {
			issue.Line = t.Position.Line
		}
	} else if m := strictLine.FindStringSubmatch(issue.Message); m != nil {
		_, _ = fmt.Sscanf(m[1], "%d", &issue.Line) // six digits
		issue.Message = issue.Message[len(m[0]):]
	}
	return issue
}

type checker struct {
	file  string
	lines map[string]int
}

// index remembers the line of every key by its path.
func (c *checker) index(path string, node ast.Node) {
	switch n := node.(type) {
	case *ast.MappingNode:
		for _, value := range n.Values {
			c.index(path, value)
		}
	case *ast.MappingValueNode:
		at := strings.TrimPrefix(path+"."+strings.Trim(n.Key.String(), `"'`), ".")
		c.lines[at] = n.Key.GetToken().Position.Line
		c.index(at, n.Value)
	}
}

func (c *checker) refuse(path, format string, args ...any) error {
	issue := &IssueError{File: c.file, Line: 1, Message: path + ": " + fmt.Sprintf(format, args...)}
	for at := path; at != ""; {
		if line, ok := c.lines[at]; ok {
			issue.Line = line
			break
		}
		at = at[:max(strings.LastIndexByte(at, '.'), 0)]
	}
	return issue
}

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9-]{1,31}$`)

// taken are the names that lead elsewhere under the path of gateways.
func taken() []string {
	return append(ussd.Dialects(), "accounts", "debug", "funnel", "graph", "live", "locks", "refusals", "sessions", "telephones", "timeline")
}

func (c *checker) check(d *Dialect) error {
	s := &d.src
	switch {
	case !nameForm.MatchString(s.Name):
		return c.refuse("name", "write 2 to 32 of a-z, 0-9 and -, beginning with a letter; it is the end of the path /api/ussd/NAME")
	case slices.Contains(taken(), s.Name):
		return c.refuse("name", "%q is taken; choose another, such as %q", s.Name, s.Name+"-2")
	}
	if err := c.checkRequest(d); err != nil {
		return err
	}
	return c.checkAnswer(d)
}

func (c *checker) checkRequest(d *Dialect) error {
	r := &d.src.Request
	switch {
	case r.Method != methodGet && r.Method != methodPost:
		return c.refuse("request.method", "write GET or POST")
	case !slices.Contains([]string{fieldsQuery, fieldsForm, fieldsJSON, fieldsXML}, r.Fields):
		return c.refuse("request.fields", "write query, form, json or xml: where the request has its fields")
	case r.Method == methodGet && r.Fields != fieldsQuery:
		return c.refuse("request.fields", "a GET has no body: write query")
	case r.Typed != typedAll && r.Typed != typedNewest:
		return c.refuse("request.typed", "write all (everything typed in the session, joined by *) or newest (what was typed last)")
	case r.Typed == typedAll && r.Start != nil:
		return c.refuse("request.start", "leave it out: where everything typed comes, an empty input is the start")
	case r.Typed == typedAll && r.Sequence != "":
		return c.refuse("request.sequence", "leave it out: where everything typed comes, the input is the number")
	case r.Typed == typedNewest && (r.Extension != 0 || r.Dialled):
		return c.refuse("request.extension", "leave extension and dialled out: of the newest input only the first is looked through")
	case r.Extension < 0 || r.Extension > maxExtension:
		return c.refuse("request.extension", "write 0 to %d: how many parts of the input belong to the code", maxExtension)
	}
	for _, f := range []struct {
		key, path string
		must      bool
	}{
		{"session", r.Session, true},
		{"phone", r.Phone, true},
		{"input", r.Input, true},
		{"code", r.Code, false},
		{"sequence", r.Sequence, false},
	} {
		switch {
		case f.must && f.path == "":
			return c.refuse("request."+f.key, "write the name of the field that has it")
		case f.path != "":
			if err := c.checkPath("request."+f.key, f.path); err != nil {
				return err
			}
			d.wanted[f.path] = true
		}
	}
	for key, s := range map[string]*sign{"request.start": r.Start, "request.over": r.Over} {
		if s == nil {
			continue
		}
		if err := c.checkPath(key+".field", s.Field); err != nil {
			return err
		}
		if len(s.Is) == 0 || len(s.Is) > maxWords {
			return c.refuse(key+".is", "write the values that say so, at most %d: [begin]", maxWords)
		}
		d.wanted[s.Field] = true
	}
	return nil
}

func (c *checker) checkPath(key, path string) error {
	if path == "" || len(path) > maxPath || strings.ContainsFunc(path, func(r rune) bool {
		return r <= ' ' || r == '{' || r == '}'
	}) {
		return c.refuse(key, "write a field's name without spaces; a field inside another one as payload.response")
	}
	return nil
}

func (c *checker) checkAnswer(d *Dialect) error {
	a := &d.src.Answer
	if !slices.Contains([]string{mediaText, mediaJSON, mediaXML, mediaTextXML}, a.Media) {
		return c.refuse("answer.media", "write %s, %s, %s or %s", mediaText, mediaJSON, mediaXML, mediaTextXML)
	}
	for _, one := range []struct {
		key, text string
		into      *template
	}{{"answer.continue", a.Continue, &d.goOn}, {"answer.end", a.End, &d.end}} {
		t, err := parseTemplate(a.Media, one.text)
		if err != nil {
			return c.refuse(one.key, "%v", err)
		}
		for _, path := range t.echoes() {
			if err := c.checkPath(one.key, path); err != nil {
				return err
			}
			d.echoed[path] = true
		}
		*one.into = t
	}
	if !d.goOn.differs(d.end) {
		return c.refuse("answer.end", "it must differ from continue before {{text}}, as CON differs from END: a gateway could not tell them apart")
	}
	return nil
}

// Name is the end of the dialect's path.
func (d *Dialect) Name() string { return d.src.Name }

// About says whose dialect it is.
func (d *Dialect) About() string { return d.src.About }

// Method is how the gateway calls: GET or POST.
func (d *Dialect) Method() string { return d.src.Request.Method }

// Media is the type of answers.
func (d *Dialect) Media() string { return d.src.Answer.Media }

// BodyMedia is the type of requests, or "" where they have no body.
func (d *Dialect) BodyMedia() string {
	switch d.src.Request.Fields {
	case fieldsForm:
		return mediaForm
	case fieldsJSON:
		return mediaJSON
	case fieldsXML:
		return mediaXML
	}
	return ""
}
