package ussdmenu

import (
	"maps"
	"strings"
)

// State is where a session is in a menu, and what it remembers. It holds no
// secret.
type State struct {
	Screen string            `json:"s"`
	Page   int               `json:"p,omitempty"`
	Lang   string            `json:"l"`
	Vars   map[string]string `json:"v,omitempty"`
	// Notice is the text above the screen: what was wrong with the last input.
	Notice string `json:"n,omitempty"`
	// Limit is what the session's network shows of a screen.
	Limit Limit `json:"z,omitzero"`
}

// How an input was read; it decides what may be shown of it later.
const (
	ReadOption = "option" // a key: may be shown
	ReadText   = "text"   // free text: only its length may be shown
	ReadSecret = "secret" // a PIN: nothing may be shown
	ReadWrong  = "wrong"  // no valid answer: treated like text
)

// Move is the result of one input.
type Move struct {
	State State
	// Call is the action to run before there is an answer; "" when State can be
	// rendered as it is.
	Call string
	// Read says how the input was taken.
	Read string
	// Input is the part of the input that was taken.
	Input string
	// Rest is what is left of a compound input.
	Rest string
	// Secret is a valid secret that was typed for the variable SecretVar.
	Secret, SecretVar string
	// Resume asks for the state of the earlier session.
	Resume bool
}

// Begin returns the state of a new session.
func (m *Menu) Begin(lang string) State {
	return State{Screen: m.src.Start, Lang: m.Language(lang)}
}

// again returns the state of a session that begins anew on its own network.
func (m *Menu) again(st State) State {
	begun := m.Begin(st.Lang)
	begun.Limit = st.Limit
	return begun
}

// Step takes one input. On a screen of options a compound input ("1*2", from a
// hop that was lost on the way) is taken up to its first star and the rest
// handed back; on an input screen the whole is tried first, because free text
// may contain stars.
func (m *Menu) Step(st State, input string, f Facts) Move {
	s := m.src.Screens[st.Screen]
	if s == nil || (s.Private && f&Authenticated == 0) {
		// The session lost its login, or its screen: begin again.
		return Move{State: m.again(st), Read: ReadWrong, Input: input}
	}
	input = strings.TrimSpace(input)
	first, rest, compound := cutStar(input)
	if mv, ok := m.key(s, st, input, f); ok {
		mv.Input = input
		return mv
	}
	if s.Input != nil {
		if mv, ok := m.enter(s, st, input, f); ok {
			mv.Input = input
			return mv
		}
	}
	if compound {
		if mv, ok := m.key(s, st, first, f); ok {
			mv.Input, mv.Rest = first, rest
			return mv
		}
		if s.Input != nil {
			if mv, ok := m.enter(s, st, first, f); ok {
				mv.Input, mv.Rest = first, rest
				return mv
			}
		}
	}
	return m.refuse(s, st, input)
}

// cutStar splits a compound input at its first star. A leading star is itself
// an input (the exit key).
func cutStar(s string) (first, rest string, ok bool) {
	if strings.HasPrefix(s, "*") {
		return "*", strings.TrimPrefix(s[1:], "*"), len(s) > 1
	}
	return strings.Cut(s, "*")
}

// key takes an input that is a key of the screen.
func (m *Menu) key(s *Screen, st State, input string, f Facts) (Move, bool) {
	k := &m.src.Keys
	for i := range s.Options {
		o := &s.Options[i]
		if o.Key != input || !o.When.Holds(f) {
			continue
		}
		if len(o.Set) > 0 {
			st.Vars = withVars(st.Vars, o.Set)
		}
		return m.follow(st, o.Next, f, ReadOption)
	}
	switch {
	case len(s.Back) > 0 && input == k.Back:
		return m.follow(st, s.Back, f, ReadOption)
	case s.CanExit && input == k.Exit:
		return m.follow(st, Next{{To: ToExit}}, f, ReadOption)
	case s.Input != nil && s.Input.Skip != "" && input == s.Input.Skip:
		st.Vars = withVars(st.Vars, map[string]string{s.Input.Var: ""})
		return m.follow(st, s.Input.Next, f, ReadOption)
	}
	if input == k.Next || input == k.Previous {
		pages := len(m.pages(s, st, f))
		if input == k.Next && st.Page < pages-1 {
			st.Page++
			return Move{State: st, Read: ReadOption}, true
		}
		if input == k.Previous && st.Page > 0 {
			st.Page--
			return Move{State: st, Read: ReadOption}, true
		}
	}
	return Move{}, false
}

// enter takes an input that passes the screen's validation.
func (m *Menu) enter(s *Screen, st State, input string, f Facts) (Move, bool) {
	value, problem := s.Input.validate(input)
	if problem != "" {
		return Move{}, false
	}
	if s.Input.Secret() {
		mv, ok := m.follow(st, s.Input.Next, f, ReadSecret)
		mv.Secret, mv.SecretVar = value, s.Input.Var
		return mv, ok
	}
	st.Vars = withVars(st.Vars, map[string]string{s.Input.Var: value})
	return m.follow(st, s.Input.Next, f, ReadText)
}

// refuse shows the screen again with what was wrong.
func (m *Menu) refuse(s *Screen, st State, input string) Move {
	st.Page = 0
	st.Notice = m.labels.invalid[st.Lang]
	read := ReadWrong
	if s.Input != nil {
		_, problem := s.Input.validate(input)
		text := s.Input.Errors[problem]
		if text == nil {
			text = s.Input.Errors["invalid"]
		}
		st.Notice = text[st.Lang]
		if s.Input.Secret() {
			read = ReadSecret
		}
	}
	return Move{State: st, Read: read, Input: input}
}

// follow goes to the first target whose guard holds.
func (m *Menu) follow(st State, n Next, f Facts, read string) (Move, bool) {
	t, ok := n.pick(f)
	if !ok {
		return Move{}, false
	}
	mv := Move{Read: read}
	st.Notice = t.Notice[st.Lang]
	switch t.To {
	case ToStart:
		st.Screen, st.Page = m.src.Start, 0
	case ToExit:
		st.Screen, st.Page = m.src.Exit, 0
	case ToSame:
		st.Page = 0
	case ToResume:
		st.Screen, st.Page, mv.Resume = m.src.Start, 0, true
	default:
		if m.src.Actions[t.To] != nil {
			mv.Call = t.To
		} else {
			st.Screen, st.Page = t.To, 0
		}
	}
	mv.State = st
	return mv, true
}

// Action returns the registered function's name that a Call runs.
func (m *Menu) Action(call string) string {
	if a := m.src.Actions[call]; a != nil {
		return a.Run
	}
	return ""
}

// Resolve goes on after an action with the outcome that it answered and the
// variables that it set.
func (m *Menu) Resolve(st State, call, outcome string, set map[string]string, f Facts) Move {
	if len(set) > 0 {
		st.Vars = withVars(st.Vars, set)
	}
	a := m.src.Actions[call]
	if a == nil {
		return Move{State: m.again(st)}
	}
	mv, ok := m.follow(st, a.On[outcome], f, "")
	if !ok {
		return Move{State: m.again(st)}
	}
	return mv
}

// Walk goes from st along the inputs of text, as far as they need no secret, no
// action and are valid. It returns the state reached and the moves made.
func (m *Menu) Walk(st State, text string, f Facts) (State, []Move) {
	var moves []Move
	const most = MaxSeptets // every input takes at least one character of the text
	for text != "" && len(moves) < most {
		s := m.src.Screens[st.Screen]
		if s == nil || s.End || (s.Input != nil && s.Input.Secret()) {
			break
		}
		first, rest, compound := cutStar(text)
		if !compound {
			rest = ""
		}
		mv := m.Step(st, first, f)
		if mv.Call != "" || mv.Resume {
			break
		}
		moves = append(moves, mv)
		st = mv.State
		if mv.Read == ReadWrong {
			break
		}
		text = rest
	}
	return st, moves
}

// Asks reports whether the screen waits for a secret.
func (m *Menu) Asks(screen string) (secret bool) {
	s := m.src.Screens[screen]
	return s != nil && s.Input != nil && s.Input.Secret()
}

// Ends reports whether the screen closes the session.
func (m *Menu) Ends(screen string) bool {
	s := m.src.Screens[screen]
	return s == nil || s.End
}

// Private reports whether the screen needs a login.
func (m *Menu) Private(screen string) bool {
	s := m.src.Screens[screen]
	return s != nil && s.Private
}

// withVars returns vars with set added, without touching either.
func withVars(vars, set map[string]string) map[string]string {
	out := make(map[string]string, len(vars)+len(set))
	maps.Copy(out, vars)
	for k, v := range set {
		if v == "" {
			delete(out, k)
			continue
		}
		out[k] = v
	}
	return out
}
