package yamlfile

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goccy/go-yaml/token"
)

var (
	errDeep     = fmt.Errorf("nested deeper than %d", MaxDepth)
	errPaths    = fmt.Errorf("too many values below long keys: their paths have more than %d bytes", MaxPaths)
	errManyKeys = fmt.Errorf("a map has more than %d keys", MaxKeys)
	errLongKey  = fmt.Errorf("a key is longer than %d bytes", MaxKey)
	errOtherKey = errors.New("a list or a map cannot be a key")
)

// shape is what the tokens of a document show of it before it is parsed.
type shape struct {
	line    int
	openers int // on this line
	before  *token.Token
	asked   *token.Token // a question mark whose key is being read
	levels  []level
	flow    int // how many of them are brackets
	paths   int // the bytes of all paths so far
	repeats bool
}

// level is what a value is in: a key, an entry of a list, or a bracket.
type level struct {
	column int
	kind   token.Type
	length int // of the path down to here
	keys   int // how many the map has so far
}

// add looks at the next token.
func (s *shape) add(t *token.Token) error {
	at, column := 1, 1
	if t.Position != nil {
		at, column = t.Position.Line, t.Position.Column
	}
	if at != s.line {
		s.line, s.openers = at, 0
	}
	if err := checkKey(s.asked, s.before, t); err != nil {
		return err
	}
	switch t.Type {
	case token.AliasType:
		s.repeats = true
	case token.DocumentHeaderType, token.DocumentEndType:
		s.levels, s.flow = s.levels[:0], 0
	case token.SequenceStartType, token.MappingStartType:
		s.push(level{column: column, kind: t.Type}, indexLength)
		s.flow++
	case token.SequenceEndType, token.MappingEndType:
		if open := s.bracket(); open >= 0 {
			s.levels = s.levels[:open]
			s.flow--
		}
	case token.MappingKeyType:
		s.asked = t
		s.openers++
	case token.MappingValueType:
		if err := s.key(column); err != nil {
			return err
		}
	case token.SequenceEntryType:
		s.openers++ // each may begin a level: - - - x
		s.entry(column)
	case token.TagType, token.AnchorType:
		s.openers++
	default:
	}
	s.before = t
	if s.flow > MaxDepth || s.openers > MaxDepth || len(s.levels) > 2*MaxDepth {
		return errDeep
	}
	if n := len(s.levels); n > 0 {
		if s.paths += s.levels[n-1].length; s.paths > MaxPaths {
			return errPaths
		}
	}
	return nil
}

// indexLength is about what the place in a list adds to a path.
const indexLength = 8

// push goes one level down.
func (s *shape) push(l level, adds int) {
	if n := len(s.levels); n > 0 {
		adds += s.levels[n-1].length
	}
	l.length = adds
	s.levels = append(s.levels, l)
}

// bracket is where the innermost open bracket is, or -1.
func (s *shape) bracket() int {
	for i, l := range slices.Backward(s.levels) {
		if k := l.kind; k == token.SequenceStartType || k == token.MappingStartType {
			return i
		}
	}
	return -1
}

// key goes to the value of a key, out of what came before it in the same map.
func (s *shape) key(column int) error {
	asked := s.asked
	s.asked = nil
	length := 0
	if s.before != nil {
		length = len(s.before.Value) + 3
		if s.before.Position != nil {
			column = s.before.Position.Column
		}
	}
	if asked != nil && asked.Position != nil {
		column = asked.Position.Column
	}
	open, keys := s.bracket(), 0
	for n := len(s.levels); n > open+1; n-- { // in brackets columns say nothing
		if last := s.levels[n-1]; open < 0 && last.column < column {
			break
		} else if last.kind == token.MappingValueType && (open >= 0 || last.column == column) {
			keys = last.keys
		}
		s.levels = s.levels[:n-1]
	}
	if keys++; keys > MaxKeys {
		return errManyKeys
	}
	s.push(level{column: column, kind: token.MappingValueType, keys: keys}, length)
	return nil
}

// entry goes to an entry of a list, which may stand right below the key of the list.
func (s *shape) entry(column int) {
	open := s.bracket()
	for n := len(s.levels); n > open+1; n-- {
		if l := s.levels[n-1]; l.column < column || l.column == column && l.kind == token.MappingValueType {
			break
		}
		s.levels = s.levels[:n-1]
	}
	s.push(level{column: column, kind: token.SequenceEntryType}, indexLength)
}

// checkKey looks at a token that may make a key of what stands in front of it.
func checkKey(asked, before, t *token.Token) error {
	if before == nil {
		return nil
	}
	if before.Type == token.MappingKeyType {
		switch t.Type {
		case token.MappingKeyType, token.SequenceEntryType, token.SequenceStartType, token.MappingStartType:
			return errOtherKey
		default:
		}
	}
	if t.Type != token.MappingValueType {
		return nil
	}
	// The colon of a question mark stands below it; any other is of a map within the key.
	within := asked != nil && asked.Position != nil && t.Position != nil && asked.Position.Column != t.Position.Column
	if within || before.Type == token.SequenceEndType || before.Type == token.MappingEndType {
		return errOtherKey
	}
	if len(before.Value) > MaxKey {
		return errLongKey
	}
	return nil
}
