package ussdmenu

import "strings"

// Render returns the text of the state's screen and whether it ends the session.
func (m *Menu) Render(st State, f Facts) (text string, end bool) {
	s := m.src.Screens[st.Screen]
	if s == nil {
		s = m.src.Screens[m.src.Start]
		st = m.again(st)
	}
	if s.Paged || st.Page > 0 {
		return m.page(s, st, f), s.End
	}
	var b strings.Builder
	b.Grow(MaxSeptets)
	if st.Notice != "" {
		b.WriteString(st.Notice)
		b.WriteByte('\n')
	}
	s.texts[st.Lang].expand(&b, m.src, st.Vars)
	for i := range s.Options {
		o := &s.Options[i]
		if o.Hidden || !o.When.Holds(f) {
			continue
		}
		b.WriteByte('\n')
		b.WriteString(o.Key)
		b.WriteString(". ")
		o.labels[st.Lang].expand(&b, m.src, st.Vars)
	}
	m.pinned(&b, s, st.Lang)
	if text = b.String(); !s.End && !st.Limit.Fits(text) {
		// The network that the menu was checked for is not the one it is shown on.
		return m.page(s, st, f), s.End
	}
	return text, s.End
}

func (m *Menu) page(s *Screen, st State, f Facts) string {
	pages := m.pages(s, st, f)
	return pages[min(st.Page, len(pages)-1)]
}

// pinned writes the lines that every page has.
func (m *Menu) pinned(b *strings.Builder, s *Screen, lang string) {
	if len(s.Back) > 0 {
		line(b, m.src.Keys.Back, m.labels.back[lang])
	}
	if s.CanExit {
		line(b, m.src.Keys.Exit, m.labels.exit[lang])
	}
}

func line(b *strings.Builder, key, label string) {
	b.WriteByte('\n')
	b.WriteString(key)
	b.WriteString(". ")
	b.WriteString(label)
}

// pages cuts a screen into messages. Text breaks between words, an option is
// never split, and the paging keys are there only where there is a page.
func (m *Menu) pages(s *Screen, st State, f Facts) []string {
	var head strings.Builder
	if st.Notice != "" {
		head.WriteString(st.Notice)
		head.WriteByte('\n')
	}
	whole := s.texts[st.Lang].expand(&head, m.src, st.Vars)
	var options []string
	for i := range s.Options {
		o := &s.Options[i]
		if o.Hidden || !o.When.Holds(f) {
			continue
		}
		var b strings.Builder
		line(&b, o.Key, "")
		o.labels[st.Lang].expand(&b, m.src, st.Vars)
		options = append(options, b.String())
	}
	var tail strings.Builder
	m.pinned(&tail, s, st.Lang)

	all := head.String() + strings.Join(options, "") + tail.String()
	if s.End || st.Limit.Fits(all) {
		return []string{all}
	}
	var next, previous strings.Builder
	line(&next, m.src.Keys.Next, m.labels.next[st.Lang])
	line(&previous, m.src.Keys.Previous, m.labels.previous[st.Lang])
	p := newPager(st.Limit.OrDefault(), next.String(), previous.String(), tail.String())
	for _, word := range words(head.String(), whole) {
		p.add(word, false)
	}
	for _, option := range options {
		p.add(option, true)
	}
	return p.finish()
}

// LongestPages returns the sizes of a screen's pages on a network, with every value as
// long as it is declared, and every option that can be there beside the others.
func (m *Menu) LongestPages(screen, lang string, limit Limit) []Size {
	s := m.src.Screens[screen]
	if s == nil {
		return nil
	}
	st := State{Screen: screen, Lang: lang, Limit: limit, Vars: map[string]string{}}
	fill := func(t template) {
		for _, p := range t {
			if p.variable != "" && st.Vars[p.variable] == "" {
				st.Vars[p.variable] = strings.Repeat("x", m.src.Variables[p.variable].Max)
			}
		}
	}
	fill(s.texts[lang])
	var f Facts
	for i := range s.Options {
		f |= s.Options[i].When.must
		fill(s.Options[i].labels[lang])
	}
	var sizes []Size
	for _, page := range m.pages(s, st, f) {
		sizes = append(sizes, Measure(page))
	}
	return sizes
}

// words cuts text into pieces that keep the white space in front of them. Within the
// spans, which follow each other, a piece is a line.
func words(s string, whole []span) []string {
	var out []string
	start := 0
	for i := 1; i < len(s); i++ {
		for len(whole) > 0 && i >= whole[0].to {
			whole = whole[1:]
		}
		if s[i] == ' ' && len(whole) > 0 && i >= whole[0].from {
			continue
		}
		if (s[i] == ' ' || s[i] == '\n') && s[i-1] != ' ' && s[i-1] != '\n' {
			out = append(out, s[start:i])
			start = i
		}
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}

// pager fills pages greedily. It looks at every letter a few times, however long a word is.
type pager struct {
	limit                Limit
	next, previous, tail string
	first, later         Size // of the lines that frame the first page, and the others
	pages                []string
	page                 strings.Builder
	size                 Size
}

func newPager(limit Limit, next, previous, tail string) *pager {
	p := &pager{limit: limit, next: next, previous: previous, tail: tail, first: Measure(tail + next)}
	p.later = p.first
	p.later.plus(Measure(previous))
	return p
}

// room returns the size of the lines that frame the page being filled.
func (p *pager) room() Size {
	if len(p.pages) > 0 {
		return p.later
	}
	return p.first
}

// add puts a piece on the page, or on the next one when it does not fit. A word
// longer than a page is cut; an option is not, the checker saw to that.
func (p *pager) add(piece string, whole bool) {
	rest, wide := measureWide(piece)
	drop := func(n int) { // the first bytes of the piece are done
		done := Measure(piece[:n])
		piece, wide = piece[n:], wide-n
		rest = Size{rest.Septets - done.Septets, rest.Units - done.Units, wide > 0}
	}
	for piece != "" {
		if p.page.Len() == 0 {
			drop(len(piece) - len(strings.TrimLeft(piece, " \n")))
		}
		z := p.size
		z.plus(rest)
		framed := z
		framed.plus(p.room())
		if p.limit.Over(framed) <= 0 {
			p.page.WriteString(piece)
			p.size = z
			return
		}
		if p.page.Len() > 0 {
			p.flush()
			continue
		}
		if whole {
			p.page.WriteString(piece)
			p.size = z
			return
		}
		room := p.room()
		limit := p.limit.Septets - room.Septets
		if room.UCS2 || rest.UCS2 {
			limit = p.limit.Units - room.Units
		}
		cut := cutTo(piece, limit, rest.UCS2)
		if cut == "" {
			return
		}
		p.page.WriteString(cut)
		if drop(len(cut)); piece != "" {
			p.flush()
		}
	}
}

func (p *pager) flush() {
	body := p.page.String() + p.next
	if len(p.pages) > 0 {
		body += p.previous
	}
	p.pages = append(p.pages, body+p.tail)
	p.page.Reset()
	p.size = Size{}
}

func (p *pager) finish() []string {
	body := p.page.String()
	if len(p.pages) > 0 {
		body += p.previous
	}
	return append(p.pages, body+p.tail)
}
