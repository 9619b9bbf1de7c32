package keys

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/BurntSushi/toml"
)

// sample has every kind of field a document uses.
type sample struct {
	Name  string            `toml:"name"`
	Count int               `toml:"count"`
	Small uint8             `toml:"small"`
	Rate  float64           `toml:"rate"`
	On    bool              `toml:"on"`
	List  []string          `toml:"list"`
	Extra map[string]string `toml:"extra"`
	ID    ID                `toml:"id"`
	Rule  []struct {
		Name string `toml:"name"`
	} `toml:"rule"`
}

func TestDecodeStrictErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"count = 1\ncolor = 2\n", `job: line 2: unknown key "color"`},
		{"[rules]\n", `job: line 1: unknown key "rules"; did you mean "rule"?`},
		{"[[rule]]\nname = \"a\"\n\n[[rule]]\n# hm\nnmae = \"b\"\n[[rule]]\nname = \"c\"\n", `job: line 6: unknown key "rule.nmae"; did you mean "name"?`},
		{"[[rule]]\nname = \"a\"\n[[rule]]\nname = 3\n[[rule]]\nname = \"c\"\n", `job: line 4: rule.name: want a string, got an integer`},
		{"rule = [{name = \"a\"},\n  {nmae = \"b\"}]\n", `job: line 1: unknown key "rule.nmae"; did you mean "name"?`},
		{"Name = \"a\"\n", `job: line 1: key "Name" must be in lower case`},
		{"name = \"a\"\nNAME = \"b\"\n", `job: line 2: key "NAME" must be in lower case`},
		{"name = \"a\"\nname = \"b\"\n", `job: line 2: name: it stands there twice`},
		{"count = \"3\"\n", `job: line 1: count: want an integer, got a string`},
		{"count = 3.5\n", `job: line 1: count: want an integer, got a number`},
		{"count = true\n", `job: line 1: count: want an integer, got true or false`},
		{"count = [1]\n", `job: line 1: count: want an integer, got a list`},
		{"count = 2026-11-20T12:00:00Z\n", `job: line 1: count: want an integer, got a date without quotes`},
		{"count = {}\n", `job: line 1: count: want an integer, got a table`},
		{"[[count]]\n", `job: line 1: count: want an integer, got a list`},
		{"on = 1\n", `job: line 1: on: want true or false, got an integer`},
		{"rate = \"1\"\n", `job: line 1: rate: want a number, got a string`},
		{"list = \"a\"\n", `job: line 1: list: want a list, got a string`},
		{"list = [\n  \"a\",\n  3,\n]\n", `job: line 1: list: want a string, got an integer`},
		{"extra = 1\n", `job: line 1: extra: want a table, got an integer`},
		{"rule = [1]\n", `job: line 1: rule: want a table, got an integer`},
		{"small = 256\n", `job: line 1: small: 256 is out of range for uint8`},
		{"count = 99999999999999999999\n", `job: line 1: count: 99999999999999999999 is out of range for int64`},
		{"id = \"bank\"\n", `job: line 1: id: malformed member id "bank": it must start with "hanse-id1"`},
		{"id = []\n", `job: line 1: id: want a string, got a list`},
		{"count = \n", `job: line 1: count: expected value but found '\n' instead`},
		{"\n\ncount 3\n", `job: line 3: expected '.' or '=', but got '3' instead`},
		{"name = \"a\n", `job: line 1: a string is not closed before the end of its line`},
		{"name = 'a\n'", `job: line 1: a string is not closed before the end of its line`},
		{"name = \"\"\"a\"\"\"\n", `job: line 1: a string over several lines is not allowed: write it on one line`},
		{"count = 1\nname = '''a'''\n", `job: line 2: a string over several lines is not allowed: write it on one line`},
		{"list = [\"a\"", `job: line 1: list: expected a comma (',') or array terminator (']'), but got end of file`},
		{"\"\\u001b[2J\" = 1\n\"\\u001b[2J\" = 2\n", `job: line 1: key "\"\\u001b[2J\"" must be in lower case`},
		{"extra.\"a\\u001b\" = 1\n", "job: line 1: extra.\"a\\u001b\": want a string, got an integer"},
		{"name = \"\xff\"\n", `job: the text is not UTF-8`},
		{"x = " + strings.Repeat("[", 17), `job: line 1: brackets are nested deeper than 16`},
		{strings.Repeat("a.", 16) + "a = 1\n", `job: line 1: a key has more than 16 parts`},
		{"x = [" + strings.Repeat("1,", maxItems) + "]\n", `job: line 1: more than 262144 values`},
		{strings.Repeat(" ", MaxDocument+1), `job: 4194305 bytes, at most 4194304 are allowed`},
		{strings.Repeat("k", 200) + " = 1\n", `job: line 1: unknown key "` + strings.Repeat("k", 80) + `…"`},
	} {
		before := sample{Count: 7}
		v := before
		wantError(t, DecodeStrict("job", []byte(c.text), &v), c.want)
		if !reflect.DeepEqual(v, before) {
			t.Errorf("%.40q: a partial result is kept: %+v", c.text, v)
		}
	}
}

func TestDecodeStrict(t *testing.T) {
	v := sample{Count: 7, Name: "default"}
	text := fmt.Sprintf("# a comment [[[\nname = \"a # \\\" [b]\" # c\nlist = [\n  'x',\n\n]\nid = %q\nextra.a = \"1\"\nrate = 2\n[[rule]]\nname = \"r\"", keyNamed("bank").ID())
	must(t, DecodeStrict("job", []byte(text), &v))
	if v.Name != `a # " [b]` || v.Count != 7 || v.List[0] != "x" || v.ID != keyNamed("bank").ID() || v.Extra["a"] != "1" ||
		v.Rate != 2 || v.Rule[0].Name != "r" {
		t.Errorf("read %+v", v)
	}
}

func TestDecodeStrictWantsAPointerToAStruct(t *testing.T) {
	var m map[string]any
	wantError(t, DecodeStrict("job", nil, m), "job: cannot decode into map[string]interface {}, want a pointer to a struct")
	wantError(t, DecodeStrict("job", nil, &m), "job: cannot decode into *map[string]interface {}, want a pointer to a struct")
	wantError(t, DecodeStrict("job", nil, sample{}), "job: cannot decode into keys.sample, want a pointer to a struct")
	wantError(t, DecodeStrict("job", nil, (*sample)(nil)), "job: cannot decode into *keys.sample, want a pointer to a struct")
	wantError(t, DecodeStrict("job", nil, nil), "job: cannot decode into <nil>, want a pointer to a struct")
}

// The parser itself says nothing of these.
func TestDecodeStrictWantsTablesForMaps(t *testing.T) {
	type inner struct {
		Limits map[string]map[string]int `toml:"limits"`
		Plain  map[string]string
	}
	type outer struct {
		inner
		Party []inner           `toml:"party"`
		One   *inner            `toml:"one"`
		By    map[string]*inner `toml:"by"`
	}
	for _, c := range []struct{ text, want string }{
		{"limits = 1\n", "job: line 1: limits: want a table, got an integer"},
		{"plain = true\n", "job: line 1: plain: want a table, got true or false"},
		{"limits = {a = {b = 1}}\n\n[[party]]\n[[party]]\nlimits = \"x\"\n[[party]]\n", "job: line 5: party.limits: want a table, got a string"},
		{"[one]\nlimits.a = []\n", "job: line 2: one.limits.a: want a table, got a list"},
		{"[by.x]\nplain.a = \"1\"\n[by.y]\nplain = 2.5\n", "job: line 4: by.y.plain: want a table, got a number"},
	} {
		wantError(t, DecodeStrict("job", []byte(c.text), new(outer)), c.want)
	}
	good := "limits = {a = {b = 1}}\n[one]\nplain.a = \"x\"\n[[party]]\n[party.limits.c]\nd = 1\n"
	if err := DecodeStrict("job", []byte(good), new(outer)); err != nil {
		t.Error(err)
	}
}

// depth is how deep v is nested.
func depth(v any) int {
	deepest := 0
	switch v := v.(type) {
	case map[string]any:
		for e := range maps.Values(v) {
			deepest = max(deepest, depth(e))
		}
	case []map[string]any:
		for _, e := range v {
			deepest = max(deepest, depth(e))
		}
	case []any:
		for _, e := range v {
			deepest = max(deepest, depth(e))
		}
	default:
		return 0
	}
	return deepest + 1
}

// What scan lets through never makes the parser nest deeper than the limits, whatever strings and
// comments the text hides its brackets in. A header adds its parts to the depth of its values.
func FuzzScanBoundsTheParser(f *testing.F) {
	f.Add("a = [[1], [2]] # [[[\nb = \"[[\\\"[\"\n'c.d'.e = {f = 1}\n[[g.h]]\ni = '[\"'\n")
	f.Add(`a = ["""x\\"""""", [[[["`)
	f.Add("a = \"\\\n[[[[[[[[[[[[[[[[[[[[[[[[\"\n")
	f.Add("\xef\xbb\xbfa = 1\r\nb = [\r[\n#\r]]")
	f.Fuzz(func(t *testing.T, text string) {
		chunks, err := scan([]byte(text))
		if err != nil {
			return
		}
		var v map[string]any
		if _, err := toml.Decode(text, &v); err != nil {
			return
		}
		if d := depth(v); d > maxDepth+2*maxKeyParts*(maxDepth+2) {
			t.Fatalf("depth %d", d)
		}
		checkChunks(t, text, chunks)
	})
}

// checkChunks sees that a right text is right up to each chunk, and that chunks are in order.
func checkChunks(t *testing.T, text string, chunks []chunk) {
	at, line := 0, 0
	for _, c := range chunks {
		if c.end <= at || c.line <= line {
			t.Fatalf("chunk %+v after line %d, offset %d", c, line, at)
		}
		at, line = c.end, c.line
		var v map[string]any
		if _, err := toml.Decode(text[:at], &v); err != nil {
			t.Fatalf("%q is right, %q is not: %v", text, text[:at], err)
		}
	}
	if at != len(text) {
		t.Fatalf("the chunks end at %d of %d", at, len(text))
	}
}

// No input panics, and an error is one line that a terminal shows as it is.
func FuzzDecodeStrict(f *testing.F) {
	f.Add("name = \"a\"\ncount = 1\n[[rule]]\nname = \"x\"\n")
	f.Add("[extra]\na = \"b\"\n")
	f.Add("rule = [{name = \"\"}]\nrate = inf")
	f.Fuzz(func(t *testing.T, text string) {
		var v sample
		err := DecodeStrict("job", []byte(text), &v)
		if err == nil {
			return
		}
		if !reflect.DeepEqual(v, sample{}) {
			t.Fatalf("a partial result with %v: %+v", err, v)
		}
		if strings.ContainsFunc(err.Error(), func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Fatalf("the error cannot be shown: %q", err)
		}
	})
}
