package render

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/keys"
)

// signed returns a small report that a new key has signed, and the key.
func signed(t testing.TB) (*finding.Report, *keys.PrivateKey) {
	t.Helper()
	key, err := keys.GenerateKey()
	must(t, err)
	r := spotless()
	r.Attacks, r.Egress = nil, nil
	r.Origin.ID = key.ID().String()
	must(t, Sign(r, key))
	return r, key
}

// forms returns both files of a report by their names.
func forms(t testing.TB, r *finding.Report) map[string][]byte {
	t.Helper()
	var page, text bytes.Buffer
	must(t, HTML(&page, r))
	must(t, JSON(&text, r))
	return map[string][]byte{"page": page.Bytes(), "json": text.Bytes()}
}

func TestASignedReportSaysWhoMadeItOfWhat(t *testing.T) {
	r, key := signed(t)
	for form, file := range forms(t, r) {
		s, err := Read(file)
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		if s.Member != "bank" || s.ID != key.ID().String() || s.Verdict != "clean" || s.Exit != 0 ||
			s.Contract != contractHash ||
			s.Charter != r.Job.Charter || s.At != r.Origin.At || s.Program != r.Origin.Program {
			t.Errorf("%s: %+v", form, s)
		}
		if len(s.Transcripts) != 4 || s.Transcripts[2] != (Transcript{"telco", r.Transcripts[2].SHA256}) {
			t.Errorf("%s: transcripts %+v", form, s.Transcripts)
		}
	}
	page := forms(t, r)["page"]
	checkPage(t, page)
	for _, part := range []string{"hanse audit verify", "signatures over every byte above this line",
		"Bank made this report"} {
		if !bytes.Contains(page, []byte(part)) {
			t.Errorf("the page lacks %q", part)
		}
	}
}

// TestForgerFlipsAByte: a forger who changes any byte of a signed report, whichever it is, is refused.
func TestForgerFlipsAByte(t *testing.T) {
	r, _ := signed(t)
	for form, file := range forms(t, r) {
		at := bytes.Index(file, []byte("hanse-audit-v2"))
		tried := 0
		for i := range file {
			if near := at-100 < i && i < at+2500; !near && i%53 != 0 && i > 300 && i < len(file)-300 {
				continue
			}
			bit := byte(1) << (i % 8)
			file[i] ^= bit
			if _, err := Read(file); err == nil {
				t.Errorf("%s: byte %d of %d was flipped, %q, and the report is taken", form, i, len(file),
					file[max(0, i-20):min(len(file), i+20)])
			}
			file[i] ^= bit
			tried++
		}
		if _, err := Read(file); err != nil || tried < 1500 {
			t.Errorf("%s: after %d flips: %v", form, tried, err)
		}
	}
}

// TestForgerEditsAReport in larger ways.
func TestForgerEditsAReport(t *testing.T) {
	r, _ := signed(t)
	other, _ := signed(t)
	other.Job.Name = "other"
	unsigned := spotless()
	page, text := string(forms(t, r)["page"]), string(forms(t, r)["json"])
	_, rest, _ := strings.Cut(page, statementOpens)
	statement, _, _ := strings.Cut(rest, statementCloses)
	for _, c := range []struct{ name, file, want string }{
		{"a byte more at the end", page + "\n", "the page is not the one that was signed"},
		{"a byte less at the end", page[:len(page)-1], "the page is not the one that was signed"},
		{"a clean verdict shown as a leak", strings.Replace(page, ">CLEAN<", ">LEAK<", 1),
			"the page is not the one that was signed"},
		{"a script", strings.Replace(page, "</main>", "<script>alert(1)</script></main>", 1),
			"the page is not the one that was signed"},
		{"two statements", strings.Replace(page, "</main>", statementOpens+statement+statementCloses+"</main>", 1),
			"it has 2 signed statements, want one"},
		{"no statement", strings.Replace(page, statementOpens, "<pre>", 1), "it has 0 signed statements, want one"},
		{"no end", page[:strings.Index(page, statementOpens)+len(statementOpens)+40], "its signed statement has no end"},
		{"another report's statement", strings.Replace(page, statement, other.Signed, 1),
			"the page is not the one that was signed"},
		{"no signature", strings.Replace(page, statement,
			statement[:strings.Index(statement, "[signatures]\n")+len("[signatures]\n")], 1), "is not signed by"},
		{"an unsigned page", string(forms(t, unsigned)["page"]), "it has 0 signed statements"},
		{"an unsigned JSON", string(forms(t, unsigned)["json"]), "it was not signed"},
		{"a JSON with blanks", strings.Replace(text, ",", ", ", 1), "changed afterwards"},
		{"a JSON with a field twice", strings.Replace(text, "{", `{"verdict":"leak",`, 1), "changed afterwards"},
		{"a JSON with a field more", strings.Replace(text, "{", `{"more":1,`, 1), "unknown field"},
		{"something else", "nothing", "it has 0 signed statements"},
		{"nothing", "", "it has 0 signed statements"},
	} {
		if s, err := Read([]byte(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v (%+v), want an error with %q", c.name, err, s, c.want)
		}
	}
}

// TestForgerSignsForAnother: a statement that names one key and bears the signature of another is refused.
func TestForgerSignsForAnother(t *testing.T) {
	r, _ := signed(t)
	forger, err := keys.GenerateKey()
	must(t, err)
	if err := Sign(r, forger); err == nil || !strings.Contains(err.Error(), "and the key is that of") {
		t.Errorf("signed for another: %v", err)
	}
	d, err := keys.ParseDocument(statementDomain, []byte(r.Signed))
	must(t, err)
	own := keys.NewDocument(statementDomain, d.Body)
	own.Sign(forger)
	page := strings.Replace(string(forms(t, r)["page"]), r.Signed, string(own.Text()), 1)
	if _, err := Read([]byte(page)); err == nil || !strings.Contains(err.Error(), "is not signed by hanse-id1") {
		t.Errorf("the forger's signature: %v", err)
	}
	own = keys.NewDocument("hanse contract v1", d.Body)
	own.Sign(forger)
	page = strings.Replace(string(forms(t, r)["page"]), r.Signed, string(own.Text()), 1)
	if _, err := Read([]byte(page)); err == nil || !strings.Contains(err.Error(), "does not fit the text above it") {
		t.Errorf("a signature made for another kind of text: %v", err)
	}
}

// TestForgerWritesToTheTerminal: an ex-member signs a statement with texts that would do something on a terminal, that
// are long, or that are no digests. It is neither signed here nor read.
func TestForgerWritesToTheTerminal(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`member = "bank"`, `member = "\u001B]0;owned\u0007\u001B[2Jtelco"`, "its member is not one line"},
		{`member = "bank"`, `member = "bank\ntelco"`, "its member is not one line"},
		{`verdict = "clean"`, `verdict = "` + strings.Repeat("x", 301) + `"`, "its verdict is not one line of at most 300"},
		{`job = "`, `job = "\u202E`, "its job is not one line"},
		{`program = "`, `program = "\u001B[8m`, "its program is not one line"},
		{"\nat = \"", "\nat = \"\\u0000", "its time is not one line"},
		{`contract = "`, `contract = "x`, "its digest of a contract is none"},
		{`charter = "`, `charter = "x`, "its digest of a charter is none"},
		{`sha256 = "`, `sha256 = "0`, "its digest of a transcript is none"},
		{`sha256 = "0`, `sha256 = "G`, "its digest of a transcript is none"},
		{`party = "`, `party = "\u001B[2J`, "a transcript in it is of a party whose name is no name"},
		{`party = "`, `party = "` + strings.Repeat("x", 100), "a transcript in it is of a party whose name is no name"},
	} {
		r, key := signed(t)
		d, err := keys.ParseDocument(statementDomain, []byte(r.Signed))
		if err != nil || !bytes.Contains(d.Body, []byte(c.old)) {
			t.Fatalf("%v: %q is not in %s", err, c.old, d.Body)
		}
		own := keys.NewDocument(statementDomain, bytes.Replace(d.Body, []byte(c.old), []byte(c.new), 1))
		own.Sign(key)
		page := strings.Replace(string(forms(t, r)["page"]), r.Signed, string(own.Text()), 1)
		if _, err := Read([]byte(page)); err == nil || !strings.Contains(err.Error(), c.want) ||
			strings.ContainsAny(err.Error(), "\x1b\x00\n") {
			t.Errorf("%q: %q, want an error with %q", c.new, err, c.want)
		}
	}
	r, key := signed(t)
	r.Origin.Member = "\x1b[2Jtelco"
	if err := Sign(r, key); err == nil || !strings.Contains(err.Error(), "its member is not one line") {
		t.Errorf("a hostile name was signed: %v", err)
	}
}

// TestAStatementNamesTheTables: what attacks were scored against is signed, and who confirmed it.
func TestAStatementNamesTheTables(t *testing.T) {
	r, key := signed(t)
	r.Tables = []finding.Table{
		{Party: "bank", SHA256: contractHash, Confirmed: true}, {Party: "telco", SHA256: contractHash},
	}
	must(t, Sign(r, key))
	want := []Table{{"bank", contractHash, true}, {"telco", contractHash, false}}
	for form, file := range forms(t, r) {
		s, err := Read(file)
		if err != nil || !slices.Equal(s.Tables, want) {
			t.Errorf("%s: %v, %+v, want %+v", form, err, s, want)
		}
	}
	page := string(forms(t, r)["page"])
	for _, part := range []string{
		"table of bank, which its record of consent names", "table of telco, which nobody confirmed",
	} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
}

// TestStatementsOfOthersAreOnlyShownWhenTheyHold: a report that comes with what pretends to be a statement shows none.
func TestStatementsOfOthersAreOnlyShownWhenTheyHold(t *testing.T) {
	for _, text := range []string{hostile, "</pre><script>alert(1)</script>", "format = \"hanse-audit-v2\"\n"} {
		r := spotless()
		r.Signed = text
		page := render(t, ".html", r)
		checkPage(t, page)
		if bytes.Contains(page, []byte(statementOpens)) || !bytes.Contains(page, []byte("Nobody has signed this report")) {
			t.Errorf("%q is shown as a statement", text)
		}
	}
}

// TestReadingReportsKeepsTheirNumbers: what JSON writes it reads back to the byte.
func TestReadingReportsKeepsTheirNumbers(t *testing.T) {
	for name, r := range fixtures() {
		var first, second bytes.Buffer
		var again finding.Report
		must(t, JSON(&first, r))
		must(t, json.Unmarshal(first.Bytes(), &again))
		if err := JSON(&second, &again); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s: %v, or another text", name, err)
		}
	}
}

// FuzzRead wants that nothing but what was signed is taken, and that nothing panics.
func FuzzRead(f *testing.F) {
	r, key := signed(f)
	for _, file := range forms(f, r) {
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		s, err := Read(file)
		if err == nil && s.ID == key.ID().String() {
			for _, genuine := range forms(t, r) {
				if bytes.Equal(genuine, file) {
					return
				}
			}
			t.Error("a changed report is taken")
		}
	})
}
