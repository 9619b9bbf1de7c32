package main

import (
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/internal/figures"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
)

var update = flag.Bool("update", false, "write what pages show anew; look at the difference before keeping it")

// shownBlock is the text in the one block of a page that begins with some words.
type shownBlock struct{ path, page, text string }

// readBlock finds a block of a page.
func readBlock(t *testing.T, page, begins string) shownBlock {
	t.Helper()
	path := filepath.Join("..", "..", filepath.FromSlash(page))
	text, err := os.ReadFile(path)
	must(t, err)
	for _, block := range fenced.FindAllStringSubmatch(string(text), -1) {
		if block[1] == "" && strings.HasPrefix(block[2], begins) {
			return shownBlock{path, string(text), block[2]}
		}
	}
	t.Fatalf("%s has no block that begins with %q", page, begins)
	return shownBlock{}
}

// write puts another text into the block's place.
func (b shownBlock) write(t *testing.T, text string) {
	t.Helper()
	page := strings.Replace(b.page, "```\n"+b.text+"```\n", "```\n"+text+"```\n", 1)
	must(t, os.WriteFile(b.path, []byte(page), 0o644))
}

// hold fails where the block is not what was printed, word by word. A number with a point may be another by as much as
// chance moves it: near says how far.
func (b shownBlock) hold(t *testing.T, printed string, near func(shown, printed float64, unit string) bool) {
	t.Helper()
	if *update {
		b.write(t, printed)
		return
	}
	shown, found := strings.Fields(b.text), strings.Fields(printed)
	for i, word := range shown {
		if i >= len(found) {
			t.Fatalf("%s shows %q and more, which was not printed:\n%s", b.path, word, printed)
		}
		x, errX := strconv.ParseFloat(word, 64)
		y, errY := strconv.ParseFloat(found[i], 64)
		unit := ""
		if i+1 < len(shown) {
			unit = shown[i+1]
		}
		if strings.Contains(word+found[i], ".") && errX == nil && errY == nil && near(x, y, unit) {
			continue
		}
		if word != found[i] {
			t.Errorf("%s shows %q where %q was printed; go test ./cmd/hanse -run %s -update writes it anew", b.path, word,
				found[i], t.Name())
		}
	}
	if len(found) > len(shown) {
		t.Errorf("%s does not show %q, which was printed last", b.path, found[len(shown):])
	}
}

// secondsColumn finds the last column of the demo's table of models, which a page does not show.
var secondsColumn = regexp.MustCompile(`(?m)^(model .*?) +seconds$|^(.+? \d\.\d{4})( +\d+\.\d\d)?$`)

// TestDemoOfTheReadme holds what the README shows of the demo: the words, the bytes within one in a hundred, and errors
// within three in a hundred rows, for every run draws secrets of its own.
func TestDemoOfTheReadme(t *testing.T) {
	if !*update {
		drawn.Turn(t, 1, 3)
	}
	t.Parallel()
	_, printed, found := strings.Cut(runTour(t, t.TempDir(), "hanse demo\n"), "\nHanse: ")
	if !found {
		t.Fatalf("the demo printed no result:\n%s", printed)
	}
	printed = secondsColumn.ReplaceAllString("Hanse: "+printed, "$1$2")
	readBlock(t, "README.md", "Hanse: ").hold(t, printed, func(shown, printed float64, unit string) bool {
		switch unit {
		case "%":
			return math.Abs(shown-printed) < 3
		case "kB", "MB":
			return math.Abs(shown-printed) < 0.01*printed
		}
		return math.Abs(shown-printed) < 0.03
	})
}

// TestRehearsalOfThePage holds what docs/rehearsal.md shows of a rehearsal against one of the same job: all but
// seconds, memory and the time.
func TestRehearsalOfThePage(t *testing.T) {
	t.Parallel()
	const job = `format = "hanse-job-v1"
name = "credit"
algorithm = "fdskl"
task = "train"
parties = ["bank", "insurer", "telco", "retailer"]

[parameters]
active = ["bank"]
label = "default"
features = 64
lambda = 1e-3
`
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "credit.toml"), []byte(job), 0o644))
	printed := runTour(t, dir, `hanse split --people 400 --out .
hanse table check bank/train.csv --label default --json > bank.json
for party in insurer telco retailer; do hanse table check $party/train.csv --json > $party.json; done
hanse rehearse credit.toml --from-schemas --schema bank=bank.json --schema insurer=insurer.json \
	--schema telco=telco.json --schema retailer=retailer.json 2> steps.log
`)
	_, printed, _ = strings.Cut(printed, "rehearsal of job")
	printed = "rehearsal of job" + printed
	for _, left := range []struct{ pattern, by string }{
		{`with \d+ cores?, \d{4}-\d\d-\d\d \d\d:\d\d UTC`, "with N cores, DATE"},
		{`(?m)^(step +)seconds\n((?:.+ \d+\.\d\d\n)+)`, ""},
		{`(?m)^((?:party|bank|insurer|telco|retailer) .*?) +(?:memory|\d[\d.]* [kMG]?B)$`, "$1"},
		{`\n\n\n`, "\n\n"},
	} {
		printed = regexp.MustCompile(left.pattern).ReplaceAllString(printed, left.by)
	}
	readBlock(t, "docs/rehearsal.md", "rehearsal of job").hold(t, printed, func(shown, printed float64, unit string) bool {
		return (unit == "kB" || unit == "MB") && math.Abs(shown-printed) < 0.01*printed
	})
}

// drawnReport is figures of 500 rows that are drawn, with two rivals and a party left out.
func drawnReport(t *testing.T) (all, contributions *figures.Report) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	s := figures.Scored{Classes: [2]string{"0", "1"}, Rule: figures.Rule{Kind: figures.Zero},
		FittedTo: figures.TrainingRows}
	rivals := make(map[string][]float64)
	names := []string{figures.Guessing, "bank alone", "bank alone, linear", "without insurer", "without telco"}
	knows := []float64{0, 0.25, 0.22, 0.45, 0.6} // how much each knows; the model 0.7
	for range 500 {
		y := -1.0
		if rng.Float64() < 0.23 {
			y = 1
		}
		noise := rng.NormFloat64() / 2
		score := 0.7*y/2 - 0.35 + noise
		s.Labels, s.Scores = append(s.Labels, y), append(s.Scores, score)
		s.Probabilities = append(s.Probabilities, 1/(1+math.Exp(0.3-2.8*score)))
		rivals[names[0]] = append(rivals[names[0]], -1)
		for i, name := range names[1:] {
			much := knows[i+1]
			rivals[name] = append(rivals[name], much*y/2-0.6+0.35*much+(0.5*much+0.6)*noise+0.1*rng.NormFloat64())
		}
	}
	b, err := figures.OfClasses(s)
	must(t, err)
	all = &figures.Report{Of: figures.ScoredRows, Binary: b}
	contributions = &figures.Report{Of: figures.ScoredRows, Binary: b}
	for i, name := range names {
		r := all
		if i > 2 {
			r = contributions
		}
		must(t, r.CompareClasses(name, s, rivals[name]))
	}
	return all, contributions
}

// TestFiguresOfThePage holds what docs/figures.md shows of figures against those of rows that are drawn.
func TestFiguresOfThePage(t *testing.T) {
	all, contributions := drawnReport(t)
	var text strings.Builder
	must(t, all.WriteShort(&text))
	none := func(shown, printed float64, _ string) bool { return math.Abs(shown-printed) < 2e-4 }
	readBlock(t, "docs/figures.md", "figures of ").hold(t, text.String(), none)
	text.Reset()
	must(t, writeContributions(&text, "credit", contributions))
	readBlock(t, "docs/figures.md", "credit: ").hold(t, text.String(), none)
}
