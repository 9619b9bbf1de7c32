package keys

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const testDomain = "hanse note v1"

func TestDocumentText(t *testing.T) {
	d := NewDocument(testDomain, []byte("a = 1"))
	if got, want := string(d.Text()), "a = 1\n"+separator+signaturesHeader; got != want {
		t.Errorf("unsigned\n got %q\nwant %q", got, want)
	}
	d.Sign(keyNamed("telco"))
	d.Sign(keyNamed("bank"))
	d.Sign(keyNamed("bank"))
	golden(t, "document.txt", d.Text())
	back, err := ParseDocument(testDomain, d.Text())
	must(t, err)
	if !bytes.Equal(back.Text(), d.Text()) || back.Hash() != d.Hash() || len(back.Signatures) != 2 {
		t.Error("the text read back differs")
	}
}

func TestSignaturesDoNotChangeTheHash(t *testing.T) {
	d := NewDocument(testDomain, []byte("a = 1\n"))
	before := d.Hash()
	d.Sign(keyNamed("bank"))
	if d.Hash() != before {
		t.Error("the hash changed")
	}
	if before == NewDocument("hanse job v1", d.Body).Hash() ||
		before == NewDocument(testDomain, []byte("a = 2\n")).Hash() {
		t.Error("domain and body do not count")
	}
}

func TestNewDocumentKeepsItsOwnBody(t *testing.T) {
	body := []byte("a = 1\n")
	d := NewDocument(testDomain, body)
	body[4] = '2'
	if string(d.Body) != "a = 1\n" {
		t.Error("the body is shared with the caller")
	}
}

func TestParseDocumentErrors(t *testing.T) {
	bank := keyNamed("bank").ID()
	signed := string(resigned(testDomain, "a = 1\nb = 2\n", "bank"))
	line := signed[strings.Index(signed, `"hanse-id1`):]
	head := strings.TrimSuffix(signed, line)
	mark := strings.TrimSpace(separator)
	misfit := "note: the signature of " + bank.Short() + " does not fit the text above it: one of the two was changed, or it was made for another text"
	for _, c := range []struct{ text, want string }{
		{"", `note: the file is empty`},
		{"a = 1\n", `note: the line "` + mark + `", with which signatures begin, is not there: is it the right file?`},
		{"format = \"hanse-job-v1\"\n", `note: this is a job (format "hanse-job-v1"), not a note`},
		{signed + signed, `note: the line "` + mark + `" stands there 2 times, want once`},
		{separator + signaturesHeader,
			`note: the line "` + mark + `" must follow the text, and "[signatures]" must follow it`},
		{"a = 1 " + separator + signaturesHeader,
			`note: the line "` + mark + `" must follow the text, and "[signatures]" must follow it`},
		{"a = 1\n" + separator, `note: the line "` + mark + `" must follow the text, and "[signatures]" must follow it`},
		{"a = 1\n" + separator + "\n" + signaturesHeader,
			`note: the line "` + mark + `" must follow the text, and "[signatures]" must follow it`},
		{strings.Replace(signed, "b = 2", "b = 3", 1), misfit},
		{strings.Replace(signed, "b = 2", "b = 2 ", 1), misfit},
		{head + line + line, "note: line 6: a second signature of " + bank.Short()},
		{head + strings.TrimSuffix(line, "\n"), "note: line 5: the line end is missing: the text is cut short"},
		{signed + "\n", `note: line 6: malformed signature: want "hanse-id1…" = "base64" and nothing else`},
		{signed + "# thanks\n", `note: line 6: malformed signature: want "hanse-id1…" = "base64" and nothing else`},
		{signed + "[more]\n", `note: line 6: malformed signature: want "hanse-id1…" = "base64" and nothing else`},
		{head + " " + line, `note: line 5: malformed signature: want "hanse-id1…" = "base64" and nothing else`},
		{head + strings.Replace(line, "id1", "id2",
			1), `note: line 5: malformed member id "hanse-id2` + bank.String()[9:24] + `…": it must start with "hanse-id1"`},
		{head + strings.Replace(line, `==`, `=`, 1),
			"note: line 5: malformed signature of " + bank.Short() + ": want 64 bytes in base64"},
		{head + `"` + bank.String() + "\" = \"\"\n",
			"note: line 5: malformed signature of " + bank.Short() + ": want 64 bytes in base64"},
		{strings.ReplaceAll(signed, "\n", "\r\n"), "note: line 1: a Windows line end, which changes the signed bytes: ask for the file again, as an attachment"},
		{strings.Replace(signed, "1", "\xff", 1), "note: line 1: byte 0xff is not UTF-8"},
		{strings.Replace(signed, "2", "2 # \u202e", 1), "note: line 2: character U+202E cannot be seen, so it has no place in a text that people sign"},
		{strings.Replace(signed, "2", "2 # \u200b", 1), "note: line 2: character U+200B cannot be seen, so it has no place in a text that people sign"},
		{strings.Replace(signed, "2", "2 \x00", 1), "note: line 2: character U+0000 cannot be seen, so it has no place in a text that people sign"},
		{"\ufeff" + signed, "note: line 1: a byte order mark, as editors of Windows write, which changes the signed bytes: ask for the file again, as an attachment"},
		{strings.Repeat("#", MaxDocument) + "\n", "note: 4194305 bytes, at most 4194304 are allowed"},
		{head + strings.Repeat("\n", maxSignatures+1), "note: 4097 signatures, at most 4096 are allowed"},
	} {
		_, err := ParseDocument(testDomain, []byte(c.text))
		wantError(t, err, c.want)
	}
}

func TestSignaturesOfAnotherKindDoNotCount(t *testing.T) {
	text := resigned(testDomain, "a = 1\n", "bank")
	_, err := ParseDocument("hanse note v2", text)
	wantError(t, err, "note: the signature of "+keyNamed("bank").ID().Short()+" does not fit the text above it: one of the two was changed, or it was made for another text")
}

// Members may paste their lines in any order; what is rendered is in one order.
func TestSignaturesInAnyOrder(t *testing.T) {
	text := string(resigned(testDomain, "a = 1\n", "bank", "telco", "insurer"))
	head, tail, _ := strings.Cut(text, signaturesHeader)
	lines := strings.SplitAfter(strings.TrimSuffix(tail, "\n")+"\n", "\n")[:3]
	slices.Reverse(lines)
	d, err := ParseDocument(testDomain, []byte(head+signaturesHeader+strings.Join(lines, "")))
	must(t, err)
	if string(d.Text()) != text {
		t.Error("the rendered text is not canonical")
	}
}

func TestAddSignature(t *testing.T) {
	d := &Document{Domain: testDomain, Body: []byte("a = 1\n")}
	bank, telco := keyNamed("bank"), keyNamed("telco")
	sig := bank.Sign(d.Domain, d.Body)
	wantError(t, d.AddSignature(telco.ID(), sig), "note: the signature of "+telco.ID().Short()+" does not fit the text above it: one of the two was changed, or it was made for another text")
	must(t, d.AddSignature(bank.ID(), sig))
	sig[0]++
	if !d.SignedBy(bank.ID()) || d.SignedBy(telco.ID()) {
		t.Error("the wrong one has signed")
	}
	if _, err := ParseDocument(testDomain, d.Text()); err != nil {
		t.Error("the signature is shared with the caller:", err)
	}
	want := []ID{telco.ID(), bank.ID(), keyNamed("insurer").ID()}
	if got := d.Missing(want); !slices.Equal(got, []ID{want[0], want[2]}) {
		t.Errorf("missing %v", got)
	}
}

// Whatever body and whoever signs, the text is read back as it was.
func TestDocumentRoundTrip(t *testing.T) {
	names := []string{"bank", "telco", "insurer", "lab"}
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.StringMatching(`([ -~äß世]*\n){1,4}`).Draw(t, "body")
		d := NewDocument(testDomain, []byte(body))
		for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID).Draw(t, "signers") {
			d.Sign(keyNamed(name))
		}
		back, err := ParseDocument(testDomain, d.Text())
		must(t, err)
		if !bytes.Equal(back.Body, d.Body) || !maps.EqualFunc(back.Signatures, d.Signatures, bytes.Equal) {
			t.Fatalf("read back %+v", back)
		}
	})
}

func TestKindOf(t *testing.T) {
	for domain, want := range map[string]string{"hanse charter v1": "charter", "hanse model part v12": "model part",
		"x": "x", "": ""} {
		if got := kindOf(domain); got != want {
			t.Errorf("kindOf(%q) = %q, want %q", domain, got, want)
		}
	}
}

func TestParseStampErrors(t *testing.T) {
	const rule = ` want UTC and whole seconds, as in "2006-01-02T15:04:05Z"`
	_, err := parseStamp("created", "")
	wantError(t, err, "created is missing")
	for _, s := range []string{"yesterday", "2026-11-20", "2026-11-20T12:00:00", "2026-11-20T12:00:00+01:00",
		"2026-11-20T12:00:00.5Z", "2026-02-30T12:00:00Z", "2026-11-20t12:00:00z"} {
		_, err := parseStamp("created", s)
		wantError(t, err, `malformed created "`+s+`":`+rule)
	}
}

// Whatever is read as a document is read the same from its rendered text.
func FuzzParseDocument(f *testing.F) {
	f.Add(resigned(testDomain, "a = 1\n", "bank", "telco"))
	f.Add(resigned(testDomain, "a = 1\n"))
	f.Add([]byte(separator + signaturesHeader))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := ParseDocument(testDomain, text)
		if err != nil {
			return
		}
		back, err := ParseDocument(testDomain, d.Text())
		if err != nil || !bytes.Equal(back.Text(), d.Text()) || !bytes.HasPrefix(text, back.Body) {
			t.Fatalf("%q is rendered as %q, which gives %v", text, d.Text(), err)
		}
		if len(text) != len(d.Text()) {
			t.Fatalf("%q is rendered as %q", text, d.Text())
		}
	})
}

// The same without the need for a fitting signature, which no fuzzer finds.
func FuzzSplitDocument(f *testing.F) {
	f.Add(resigned(testDomain, "a = 1\n", "bank", "telco"))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := splitDocument(testDomain, text)
		if err != nil {
			return
		}
		back, err := splitDocument(testDomain, d.Text())
		if err != nil || !bytes.Equal(back.Text(), d.Text()) || len(text) != len(d.Text()) {
			t.Fatalf("%q is rendered as %q, which gives %v", text, d.Text(), err)
		}
	})
}
