package ussdmenu

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// checker collects what is wrong with one menu.
type checker struct {
	work    *Work
	file    string
	src     *Source
	actions map[string]ActionSpec
	limit   Limit
	lines   map[string]int
	// offset is how many lines of the file are before the part that is being read.
	offset int
	// shared has the screens, actions and texts of included parts, by path.
	shared map[string]bool
	issues []Issue
	// notices are the texts that may stand above a screen, by screen.
	notices map[string][]Text
}

func (c *checker) report(path, format string, args ...any) {
	if len(c.issues) >= maxIssues {
		return
	}
	message := fmt.Sprintf(format, args...)
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	c.issues = append(c.issues, Issue{File: c.file, Line: c.line(path), Path: path, Message: message})
}

func (c *checker) check() {
	c.notices = map[string][]Text{}
	c.checkHeader()
	if len(c.src.Languages) > maxLanguages {
		return // every text is held against each of them
	}
	for _, name := range slices.Sorted(maps.Keys(c.src.Variables)) {
		c.checkVariable(name, c.src.Variables[name])
	}
	for _, id := range slices.Sorted(maps.Keys(c.src.Screens)) {
		c.checkScreen(c.src.Screens[id])
	}
	for _, id := range slices.Sorted(maps.Keys(c.src.Actions)) {
		c.checkAction(c.src.Actions[id])
	}
	c.checkForms()
	c.checkLists()
	c.checkHooks()
	if len(c.issues) > 0 {
		return // the graph and the sizes of a broken menu say nothing
	}
	c.checkGraph()
	for _, id := range slices.Sorted(maps.Keys(c.src.Screens)) {
		c.checkSize(c.src.Screens[id])
	}
}

func (c *checker) checkHeader() {
	s := c.src
	if s.Name == "" {
		c.report("name", "the menu has no name")
	}
	if len(s.Languages) == 0 {
		c.report("languages", "the menu has no language")
	}
	if len(s.Languages) > maxLanguages {
		c.report("languages", "the menu has %d languages; %d are the most", len(s.Languages), maxLanguages)
		return
	}
	if s.Start == "" || s.Screens[s.Start] == nil {
		c.report("start", "unknown start screen %q", s.Start)
	}
	if exit := s.Screens[s.Exit]; exit == nil {
		c.report("exit", "unknown exit screen %q", s.Exit)
	} else if !exit.End {
		c.report("exit", "the exit screen %q does not end the session", s.Exit)
	}
	if s.Resume != "" && s.Screens[s.Resume] == nil {
		c.report("resume", "unknown resume screen %q", s.Resume)
	}
	if s.Login != "" && s.Screens[s.Login] == nil {
		c.report("login", "unknown login screen %q", s.Login)
	}
	if s.Language != "" && s.Screens[s.Language] == nil {
		c.report("language", "unknown language screen %q", s.Language)
	}
	for _, role := range []struct{ name, screen string }{
		{"start", s.Start}, {"exit", s.Exit}, {"resume", s.Resume}, {"login", s.Login}, {"language", s.Language},
	} {
		if screen := s.Screens[role.screen]; screen != nil && screen.Private {
			c.report(role.name, "the %s screen %q is private, and nobody has logged in there", role.name, role.screen)
		}
	}
	for _, label := range []struct {
		name string
		text Text
	}{
		{"back", s.Labels.Back},
		{"exit", s.Labels.Exit},
		{"next", s.Labels.Next},
		{"previous", s.Labels.Previous},
		{"invalid", s.Labels.Invalid},
	} {
		c.checkText("labels."+label.name, label.text)
	}
	for _, k := range []struct{ name, key string }{
		{"back", s.Keys.Back}, {"exit", s.Keys.Exit}, {"next", s.Keys.Next}, {"previous", s.Keys.Previous},
	} {
		c.checkKey("keys."+k.name, k.key)
	}
}

func (c *checker) checkVariable(name string, v Variable) {
	path := "variables." + name
	if v.Max < 1 || v.Max > 4000 {
		c.report(path, "variable %q needs max between 1 and 4000", name)
	}
	if v.Charset != "" && v.Charset != CharsetGSM && v.Charset != CharsetAuto && v.Charset != CharsetAny {
		c.report(path+".charset", "variable %q has charset %q; gsm, auto or any", name, v.Charset)
	}
}

// checkText reports missing and superfluous translations.
func (c *checker) checkText(path string, text Text) {
	if !c.work.spend(len(c.src.Languages) + len(text)) {
		return
	}
	for _, lang := range c.src.Languages {
		if text[lang] == "" {
			c.report(path, "missing translation %q of %s", lang, path)
		}
	}
	for _, lang := range slices.Sorted(maps.Keys(text)) {
		if !slices.Contains(c.src.Languages, lang) && !c.isShared(path) {
			c.report(join(path, lang), "language %q is not one of the menu's", lang)
		}
	}
}

// checkKey reports a key that a telephone cannot send as one input.
func (c *checker) checkKey(path, key string) {
	if key == "*" {
		return
	}
	if key == "" || len(key) > 3 {
		c.report(path, "key %q must be one to three digits, or *", key)
		return
	}
	for i := range len(key) {
		if key[i] < '0' || key[i] > '9' {
			c.report(path, "key %q must be one to three digits, or *", key)
			return
		}
	}
}

func (c *checker) checkScreen(s *Screen) {
	path := "screens." + s.id
	c.checkText(path+".text", s.Text)
	seen := map[string]bool{}
	use := func(at, key string) {
		c.checkKey(at, key)
		if seen[key] {
			c.report(at, "screen %q uses the key %q twice", s.id, key)
		}
		seen[key] = true
	}
	for i := range s.Options {
		o := &s.Options[i]
		at := fmt.Sprintf("%s.options[%d]", path, i)
		use(at+".key", o.Key)
		if !o.Hidden || len(o.Label) > 0 {
			c.checkText(at+".label", o.Label)
		}
		c.checkGuard(at+".when", o.When)
		c.checkNext(at+".next", s.id, o.Next)
		for name := range o.Set {
			if _, ok := c.src.Variables[name]; !ok {
				c.report(at+".set", "unknown variable %q", name)
			}
		}
	}
	if len(s.Back) > 0 {
		use(path+".back", c.src.Keys.Back)
		c.checkNext(path+".back", s.id, s.Back)
	}
	if s.CanExit {
		use(path+".exit", c.src.Keys.Exit)
	}
	if s.Paged {
		use(path+".paged", c.src.Keys.Next)
		use(path+".paged", c.src.Keys.Previous)
	}
	if s.Input != nil {
		c.checkInput(s, path+".input", use)
		c.checkRows(s, seen)
	}
	if s.End && (len(s.Options) > 0 || s.Input != nil || len(s.Back) > 0 || s.CanExit) {
		c.report(path, "screen %q ends the session and still asks for an input", s.id)
	}
	if s.End && s.Paged {
		c.report(path+".paged", "screen %q ends the session, and nobody can ask for its other pages", s.id)
	}
	if !s.End && s.Input == nil {
		c.notices[s.id] = append(c.notices[s.id], c.src.Labels.Invalid)
	}
}

func (c *checker) checkInput(s *Screen, path string, use func(at, key string)) {
	in := s.Input
	if !slices.Contains(Kinds(), in.Kind) {
		c.report(path+".kind", "unknown input kind %q", in.Kind)
	}
	if _, ok := c.src.Variables[in.Var]; !ok && !in.Secret() {
		c.report(path+".var", "unknown variable %q", in.Var)
	}
	if in.Var == "" {
		c.report(path+".var", "the input of screen %q has no variable", s.id)
	}
	if in.Min < 0 || in.Max < 1 || in.Max > MaxSeptets || in.Min > in.Max {
		c.report(path, "the input of screen %q needs 0 <= min <= max <= %d", s.id, MaxSeptets)
	}
	if in.Skip != "" {
		use(path+".skip", in.Skip)
		if in.Secret() {
			c.report(path+".skip", "a secret cannot be skipped")
		}
	}
	if len(in.Errors[""]) > 0 || in.Errors["invalid"] == nil {
		c.report(path+".errors", "the input of screen %q has no text for the error \"invalid\"", s.id)
	}
	for _, name := range slices.Sorted(maps.Keys(in.Errors)) {
		if name != "invalid" && name != "weak" {
			c.report(join(path+".errors", name), "unknown error %q; invalid or weak", name)
		}
		c.checkText(join(path+".errors", name), in.Errors[name])
		c.notices[s.id] = append(c.notices[s.id], in.Errors[name])
	}
	if in.Kind == KindNewPIN && in.Errors["weak"] == nil {
		c.report(path+".errors", "the input of screen %q has no text for the error \"weak\"", s.id)
	}
	c.checkNext(path+".next", s.id, in.Next)
}

func (c *checker) checkGuard(path string, g Guard) {
	if g.unknown != "" {
		c.report(path, "unknown guard %q", g.unknown)
	}
}

// checkNext reports unknown targets and lists whose every entry is guarded.
func (c *checker) checkNext(path, from string, n Next) {
	if len(n) == 0 {
		c.report(path, "%q has no target", from)
		return
	}
	if !n[len(n)-1].When.Always() {
		c.report(path, "the last target needs no guard, or an input of %q may lead nowhere", from)
	}
	for _, t := range n {
		c.checkGuard(path, t.When)
		if len(t.Notice) > 0 {
			c.checkText(path+".notice", t.Notice)
		}
		to := c.target(from, t.To)
		if c.src.Screens[to] == nil && c.src.Actions[to] == nil {
			c.report(path, "unknown target %q", t.To)
			continue
		}
		if len(t.Notice) > 0 && c.src.Screens[to] != nil {
			c.notices[to] = append(c.notices[to], t.Notice)
		}
	}
}

// target resolves the words that stand for a screen. :resume goes to any
// screen of an earlier session, which is reachable by itself.
func (c *checker) target(from, to string) string {
	switch to {
	case ToStart, ToResume:
		return c.src.Start
	case ToExit:
		return c.src.Exit
	case ToSame:
		return from
	}
	return to
}

func (c *checker) checkAction(a *Action) {
	path := "actions." + a.id
	if c.src.Screens[a.id] != nil {
		c.report(path, "%q is a screen and an action", a.id)
	}
	spec, ok := c.actions[a.Run]
	if !ok {
		c.report(path+".run", "unknown action %q", a.Run)
		return
	}
	_, form := c.src.Forms[a.Form]
	c.checkNamed(a, "form", a.Form, form, spec.Form, "keeps")
	l, list := c.src.Lists[a.List]
	c.checkNamed(a, "list", a.List, list, spec.List, "reads")
	if list && spec.Row && len(l.Take) == 0 {
		c.report(path+".list", "nobody chooses from the list %q: it has no take", a.List)
	}
	_, hook := c.src.Webhooks[a.Webhook]
	c.checkNamed(a, "webhook", a.Webhook, hook, spec.Webhook, "calls")
	for _, outcome := range spec.Outcomes {
		if _, ok := a.On[outcome]; !ok {
			c.report(path+".on", "the outcome %q of action %q leads nowhere", outcome, a.Run)
		}
	}
	for _, outcome := range slices.Sorted(maps.Keys(a.On)) {
		if !slices.Contains(spec.Outcomes, outcome) {
			c.report(join(path+".on", outcome), "action %q has no outcome %q", a.Run, outcome)
		}
		c.checkNext(join(path+".on", outcome), a.id, a.On[outcome])
	}
	for _, name := range spec.Sets {
		if _, ok := c.src.Variables[name]; !ok {
			c.report(path+".run", "action %q sets %q, which the menu does not declare", a.Run, name)
		}
	}
}

// checkNamed checks that an action names a thing that the menu declares where it needs
// one, and nothing where it does not.
func (c *checker) checkNamed(a *Action, thing, name string, declared, needed bool, verb string) {
	at := "actions." + a.id + "." + thing
	switch {
	case needed && !declared:
		c.report(at, "action %q needs the name of a %s that the menu declares, not %q", a.Run, thing, name)
	case !needed && name != "":
		c.report(at, "action %q %s no %s", a.Run, verb, thing)
	}
}
