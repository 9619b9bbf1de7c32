package dataset

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/internal/wording"
)

// Codes that are whole numbers come as 1 from one program and as 1.0 or 1e+05 from another: pandas writes 1.0 where a
// column has a missing cell, R writes 1e+05. They are one level. 01 is another level than 1 where both are known, as
// codes with zeros in front mostly are texts.

// Known finds which of some known texts a text is: the levels of a column as a model has them, or the classes of a
// label.
type Known struct {
	exact   map[string]bool
	written map[string]string // by spelling less what a float adds; "" where two texts have it
	numbers map[string]string // by whole number; "" where two texts have it
	spell   spelling
}

// NewKnown makes a Known of texts, each different from the others. The empty text is a missing cell, and no number.
func NewKnown(texts []string) *Known {
	k := &Known{exact: make(map[string]bool, len(texts)), written: make(map[string]string),
		numbers: make(map[string]string), spell: spellingOf(texts)}
	note := func(by map[string]string, key, text string) {
		if _, twice := by[key]; twice {
			text = ""
		}
		by[key] = text
	}
	for _, text := range texts {
		k.exact[text] = true
		note(k.written, k.spell.less(text), text)
		if plain, ok := k.spell.whole(text); ok {
			note(k.numbers, plain, text)
		}
	}
	return k
}

// Find returns the known text that a text is: itself, or the one that is the same but for what a float adds to a whole
// number, or the only one that is the same whole number. ok is false where there is none.
func (k *Known) Find(text string) (known string, ok bool) {
	if k.exact[text] {
		return text, true
	}
	plain, is := k.spell.whole(text)
	if !is {
		return "", false
	}
	if known = k.written[k.spell.less(text)]; known == "" {
		known = k.numbers[plain]
	}
	return known, known != ""
}

// spelling says how the texts of one column are looked at.
type spelling struct {
	numbers bool // all are numbers, so that 2E3 is 2000; beside 3A1 it is a text
}

// spellingOf looks at the texts of a column.
func spellingOf(texts []string) spelling {
	return spelling{!slices.ContainsFunc(texts, func(text string) bool { return text != "" && !decimal(text) })}
}

// whole is wording.Whole, of a text that is no number's by its column.
func (s spelling) whole(text string) (string, bool) {
	if !s.numbers && strings.ContainsAny(text, "eE") {
		return "", false
	}
	return wording.Whole(text)
}

// less returns a text less what a float adds to a whole number, a point with zeros or an exponent; zeros in front stay.
// Other texts are as they are.
func (s spelling) less(text string) string {
	if !strings.ContainsAny(text, ".eE") {
		return text
	}
	plain, ok := s.whole(text)
	if !ok {
		return text
	}
	front, _, _ := strings.Cut(strings.TrimLeft(text, "+-"), ".")
	front, _, _ = strings.Cut(strings.ToLower(front), "e")
	zeros := len(front) - len(strings.TrimLeft(front, "0"))
	if zeros == len(front) {
		zeros = max(0, zeros-1) // the last one is the number
	}
	sign := ""
	if plain[0] == '-' {
		sign, plain = plain[:1], plain[1:]
	}
	return sign + front[:zeros] + plain
}

// oneSpelling returns how levels are called that are one, by what they are called in the file; nil where all are
// different. One that is plain gives its name, else the shortest, and of these the first by its bytes.
func oneSpelling(levels []string) map[string]string {
	spell := spellingOf(levels)
	groups := make(map[string][]string, len(levels))
	twice := false
	for _, level := range levels {
		key := spell.less(level)
		groups[key] = append(groups[key], level)
		twice = twice || len(groups[key]) > 1
	}
	if !twice {
		return nil
	}
	names := make(map[string]string, len(levels))
	for key, group := range groups {
		name := group[0]
		for _, level := range group[1:] {
			if len(level) < len(name) || len(level) == len(name) && level < name {
				name = level
			}
		}
		if slices.Contains(group, key) {
			name = key
		}
		for _, level := range group {
			names[level] = name
		}
	}
	return names
}

// unite makes one of levels that are the same but for what a float adds. Codes are changed in place, and levels sorted.
func (c *Column) unite() {
	names := oneSpelling(c.Levels)
	if names == nil {
		return
	}
	var levels []string
	for _, level := range c.Levels {
		levels = append(levels, names[level])
	}
	slices.Sort(levels)
	levels = slices.Compact(levels)
	to := make([]int32, len(c.Levels))
	for i, level := range c.Levels {
		at, _ := slices.BinarySearch(levels, names[level])
		to[i] = int32(at)
	}
	for i, code := range c.Codes {
		if code >= 0 {
			c.Codes[i] = to[code]
		}
	}
	c.Levels = levels
}

// writtenTwice says of a column of codes which levels are one, and which are two by zeros in front alone; "" for none.
func writtenTwice(levels []string) string {
	var says []string
	spell := spellingOf(levels)
	sorted := slices.Sorted(slices.Values(levels))
	names := oneSpelling(sorted)
	for _, level := range sorted {
		if name := names[level]; name != level && names != nil {
			says = append(says, fmt.Sprintf("its code %s is also written %s, as programs do: they are one category", quote(name),
				quote(level)))
			break
		}
	}
	numbers := make(map[string]string)
	for _, level := range sorted {
		plain, ok := spell.whole(level)
		if !ok {
			continue
		}
		less := spell.less(level)
		other, known := numbers[plain]
		if known && other != less {
			says = append(says, fmt.Sprintf("its codes %s and %s differ by signs or zeros in front alone and are two "+
				"categories: write them alike if they are one", quote(other), quote(less)))
			break
		}
		numbers[plain] = less
	}
	return strings.Join(says, "; ")
}
