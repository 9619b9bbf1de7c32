package keys

import "fmt"

// Limits that hold before a TOML text is parsed: the parser calls itself for every level of
// nesting and copies every part of a dotted key, so a hostile text could exhaust the stack or
// the memory.
const (
	maxDepth    = 16      // brackets inside brackets
	maxKeyParts = 16      // a.b.c has three
	maxItems    = 1 << 18 // values, list entries and headers
)

// chunk is a piece of TOML that parses when everything before it does: a line, or all lines of
// a list.
type chunk struct {
	line int // its first line, from 1
	end  int // the offset behind it
}

// scanner walks over TOML once, aware of strings and comments only. Where it and the parser
// could disagree, the parser has already given up on the text.
type scanner struct {
	text                     []byte
	at, line                 int
	depth, dots, items, from int
	chunks                   []chunk
}

// scan divides text into chunks and holds it against the limits. The error starts with the line.
// Strings over several lines are refused: they hide what they hold from a person who skims.
func scan(text []byte) ([]chunk, error) {
	s := &scanner{text: text, line: 1, from: 1}
	for s.at < len(text) {
		if err := s.step(); err != nil {
			return nil, fmt.Errorf("line %d: %w", s.line, err)
		}
	}
	if len(text) > 0 && text[len(text)-1] != '\n' || s.depth > 0 {
		s.chunks = append(s.chunks, chunk{s.from, len(text)})
	}
	return s.chunks, nil
}

// step consumes a character, a string or a comment.
func (s *scanner) step() error {
	c := s.text[s.at]
	s.at++
	switch c {
	case '\n':
		s.endLine()
	case '#':
		s.skipComment()
	case '"', '\'':
		return s.skipString(c)
	case '.':
		s.dots++
	case '[', '{':
		s.depth++
		s.item()
	case ']', '}':
		s.depth = max(0, s.depth-1)
		s.dots = 0
	case ',', '=':
		s.item()
	}
	return s.limits()
}

// limits says which limit is exceeded.
func (s *scanner) limits() error {
	switch {
	case s.depth > maxDepth:
		return fmt.Errorf("brackets are nested deeper than %d", maxDepth)
	case s.dots >= maxKeyParts:
		return fmt.Errorf("a key has more than %d parts", maxKeyParts)
	case s.items > maxItems:
		return fmt.Errorf("more than %d values", maxItems)
	}
	return nil
}

// item counts something the parser allocates for, and begins a new key or value.
func (s *scanner) item() {
	s.items++
	s.dots = 0
}

// endLine closes a chunk unless a bracket is open.
func (s *scanner) endLine() {
	s.line++
	s.dots = 0
	if s.depth == 0 {
		s.chunks = append(s.chunks, chunk{s.from, s.at})
		s.from = s.line
	}
}

// skipComment stops before the line end.
func (s *scanner) skipComment() {
	for s.at < len(s.text) && s.text[s.at] != '\n' {
		s.at++
	}
}

// skipString stops behind the closing quote.
func (s *scanner) skipString(q byte) error {
	if s.at+1 < len(s.text) && s.text[s.at] == q && s.text[s.at+1] == q {
		return fmt.Errorf("a string over several lines is not allowed: write it on one line")
	}
	for ; s.at < len(s.text) && s.text[s.at] != '\n'; s.at++ {
		switch {
		case s.text[s.at] == q:
			s.at++
			return nil
		case s.text[s.at] == '\\' && q == '"' && s.at+1 < len(s.text) && s.text[s.at+1] != '\n':
			s.at++
		}
	}
	return fmt.Errorf("a string is not closed before the end of its line")
}
