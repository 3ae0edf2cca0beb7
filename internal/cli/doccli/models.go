package doccli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/internal/cli/shell"
	"github.com/castalia-org/castalia/internal/platform/operatordoc/operatordochttp"
	"github.com/castalia-org/castalia/internal/service/oracle/model/endpoints/endpointshttp"
)

// How the command models is described.
const (
	ModelsUsage = "show | try KIND [--model NAME] [--address URL] [--key-file FILE|-] | set KIND [--model NAME] [--address URL] [--key-file FILE|-] | " +
		"test | history | restore VERSION [--note TEXT] | … [--server URL] [--token TOKEN|--key FILE]"
	ModelsSummary = "which model answers at a running server: show, try, set, test, and go back to an earlier choice"
)

// modelsName is the document of models.
const modelsName = "models"

// maxKey bounds a key, in bytes.
const maxKey = 8 << 10

var modelVerbs = shell.Verbs[*models]{
	"show":    {Run: (*models).show},
	"try":     {Least: 1, Most: 1, Run: (*models).try},
	"set":     {Least: 1, Most: 1, Run: (*models).set},
	"test":    {Run: (*models).test},
	"history": {Run: (*models).history},
	"restore": {Least: 1, Most: 1, Run: (*models).restore},
}

// models is one call of the command.
type models struct {
	*shell.Desk
	io                            shell.IO
	address, model, keyFile, note string
}

// RunModels is the command models.
func RunModels(ctx context.Context, args []string, s shell.IO) error {
	name, rest := verbOf(args)
	verb, err := modelVerbs.Find([]string{name})
	if err != nil {
		return err
	}
	fs := shell.NewFlags("models "+name, s)
	m := &models{Desk: shell.NewDesk(fs, s, "/operator/models"), io: s}
	fs.StringVar(&m.model, "model", "", "try, set: `NAME` of the model, as its endpoint knows it")
	fs.StringVar(&m.address, "address", "", "try, set: `URL` of the endpoint with its version, such as http://localhost:11434/v1; its vendor's own unless given")
	fs.StringVar(&m.keyFile, "key-file", "", "try, set: `FILE` with the key of the endpoint, - for the standard input; a stored key stays with its address; never an argument, which others can read")
	fs.StringVar(&m.note, "note", "", "restore: `TEXT` that says why, for the history")
	if rest, err = shell.ParseMixed(fs, rest); err != nil {
		return err
	}
	if err := verb.Check("models "+name, rest); err != nil {
		return err
	}
	return verb.Run(m, ctx, rest)
}

func (m *models) single(ctx context.Context) (now endpointshttp.SingleBody, err error) {
	err = m.Ask(ctx, http.MethodGet, "/single", nil, &now)
	return now, err
}

func (m *models) show(ctx context.Context, _ []string) error {
	now, err := m.single(ctx)
	if err != nil {
		return err
	}
	by := "built in"
	switch {
	case now.ReadOnly:
		by = "set by " + now.Where
	case now.Newest > 0:
		by = "version " + strconv.FormatInt(now.Newest, 10)
	}
	model := now.Kind
	if now.Model != "" {
		model += " " + now.Model
	}
	if now.Address != "" {
		model += " at " + now.Address
	}
	if now.KeyGiven {
		model += ", with a key"
	}
	_, _ = fmt.Fprintf(m.io.Out, "%s (%s)\n", shell.OneLine(model), shell.OneLine(by))
	if !now.Whole {
		_, _ = fmt.Fprintln(m.io.Out, "The document says more than that: `castalia operator get models` prints it.")
	}
	if now.Problem != "" {
		return errors.New("the newest version is not in force: " + now.Problem)
	}
	return nil
}

// wanted is what the flags ask for. A stored key goes with its address alone: it is kept where no
// other is given and kind and address are the same, and given up where they are others.
func (m *models) wanted(kind string, now endpointshttp.SingleBody) (endpointshttp.NewSingle, error) {
	want := endpointshttp.NewSingle{Kind: kind, Address: strings.TrimSpace(m.address), Model: strings.TrimSpace(m.model)}
	if kind == "guide" {
		if m.keyFile != "" {
			return want, shell.Usagef("the guide takes no key")
		}
		return want, nil
	}
	if want.Model == "" {
		return want, shell.Usagef("--model names the model, as its endpoint knows it")
	}
	if m.keyFile == "" {
		if now.Kind != kind || strings.TrimRight(now.Address, "/") != strings.TrimRight(want.Address, "/") {
			want.Key = new(string)
		}
		return want, nil
	}
	text, err := shell.ReadInput(m.keyFile, m.io)
	if err != nil {
		return want, fmt.Errorf("read key: %w", err)
	}
	key := strings.TrimSpace(text)
	if key == "" || len(key) > maxKey {
		return want, errors.New("the file holds no key")
	}
	want.Key = &key
	return want, nil
}

func (m *models) try(ctx context.Context, args []string) error {
	now, err := m.single(ctx)
	if err != nil {
		return err
	}
	want, err := m.wanted(args[0], now)
	if err != nil {
		return err
	}
	return m.check(ctx, http.MethodPost, "/try", want)
}

func (m *models) set(ctx context.Context, args []string) error {
	now, err := m.single(ctx)
	if err != nil {
		return err
	}
	want, err := m.wanted(args[0], now)
	if err != nil {
		return err
	}
	resp, err := m.Send(ctx, http.MethodPut, "/single", want, "If-Match", operatordochttp.ETag(now.Newest))
	if err != nil {
		return err
	}
	if err := resp.Body.Close(); err != nil {
		return err
	}
	return m.show(ctx, nil)
}

func (m *models) test(ctx context.Context, _ []string) error {
	return m.check(ctx, http.MethodGet, "", nil)
}

// check prints what each endpoint said, and fails where one does not answer.
func (m *models) check(ctx context.Context, method, path string, body any) error {
	var said endpointshttp.CheckBody
	if err := m.Ask(ctx, method, path, body, &said); err != nil {
		return err
	}
	for _, f := range said.Findings {
		name, how := f.Endpoint, "answers"
		if f.Model != "" {
			name += " " + f.Model
		}
		if !f.OK {
			how = f.Problem
		}
		_, _ = fmt.Fprintf(m.io.Out, "%s: %s\n", shell.OneLine(name), shell.OneLine(how))
	}
	if len(said.Findings) == 0 {
		_, _ = fmt.Fprintln(m.io.Out, "The guide answers; there is nothing to ask.")
	}
	if !said.OK {
		return shell.ExitError(1)
	}
	return nil
}

func (m *models) history(ctx context.Context, _ []string) error {
	return m.documents().history(ctx, remote{m.At("/operator/documents")})
}

func (m *models) restore(ctx context.Context, args []string) error {
	c := m.documents()
	c.rest = append(c.rest, args...)
	return c.restore(ctx, remote{m.At("/operator/documents")})
}

func (m *models) documents() call { return call{rest: []string{modelsName}, note: m.note, io: m.io} }
