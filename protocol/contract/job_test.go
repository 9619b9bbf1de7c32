package contract_test

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// goodJob is a job with every field that people write.
const goodJob = `format = "hanse-job-v1"
name = "credit-risk"
algorithm = "fdskl"
task = "train"
parties = ["bank", "insurer", "shop"]
privacy = "masked"
topology = "ring"
table = "customers"

[parameters]
  active = ["bank"]
  label = "default"
  rate = 0.5
`

// goodPrediction is a job that a node has completed.
var goodPrediction = fmt.Sprintf(`format = "hanse-job-v1"
name = "credit-scores"
algorithm = "fdskl"
task = "predict"
parties = ["bank", "insurer", "shop"]
privacy = "masked"
topology = "tree"
table = "train"
model = "%064d"
open_to = "bank"
charter = "%064d"
proposer = "shop"
nonce = "00ff"
`, 7, 8)

func TestJobRoundTrip(t *testing.T) {
	for _, text := range []string{goodJob, goodPrediction} {
		job, err := contract.ParseJob([]byte(text))
		must(t, err)
		if got, err := job.Text(); err != nil || string(got) != text {
			t.Errorf("the job is written back as\n%s\nerror %v", got, err)
		}
	}
}

func TestJobDefaults(t *testing.T) {
	text := strings.NewReplacer("privacy = \"masked\"\n", "", "topology = \"ring\"\n", "",
		"table = \"customers\"\n", "").Replace(goodJob)
	job, err := contract.ParseJob([]byte(text))
	must(t, err)
	if job.Privacy != "sealed" || job.Topology != "tree" || job.Table != "train" {
		t.Errorf("the defaults are %q, %q and %q", job.Privacy, job.Topology, job.Table)
	}
	if job.Index("shop") != 2 || job.Index("telco") != -1 {
		t.Error("Index finds the wrong parties")
	}
}

func TestJobMessages(t *testing.T) {
	many := strings.Repeat("\"bank\", ", keys.MaxMembers+1)
	for _, c := range []struct{ from, to, want string }{
		{"hanse-job-v1", "hanse-job-v2", `job "credit-risk": format is "hanse-job-v2", want "hanse-job-v1"`},
		{"credit-risk", "Credit", `job "Credit": name is "Credit", want 1 to 64 characters of a-z, 0-9, "-" and "_", the first a letter`},
		{"credit-risk", "", `job "": name is "", want 1 to 64 characters of a-z, 0-9, "-" and "_", the first a letter`},
		{"\"fdskl\"", "\"../x\"", `job "credit-risk": algorithm is "../x", want 1 to 64 characters of a-z, 0-9, "-" and "_", the first a letter`},
		{"\"customers\"", "\"a b\"", `job "credit-risk": table is "a b", want 1 to 64 characters of a-z, 0-9, "-" and "_", the first a letter`},
		{"\"train\"", "\"test\"", `job "credit-risk": task is "test", want train, predict, align`},
		{"\"masked\"", "\"open\"", `job "credit-risk": privacy is "open", want one of published, masked, sealed`},
		{"\"ring\"", "\"mesh\"", `job "credit-risk": topology is "mesh", want "tree", "star" or "ring"`},
		{"\"bank\", \"insurer\", \"shop\"", "\"bank\"", `job "credit-risk": parties names 1, want 2 to 4096`},
		{"\"bank\", \"insurer\", \"shop\"", many, `job "credit-risk": parties names 4097, want 2 to 4096`},
		{"\"insurer\"", "\"bank\"", `job "credit-risk": parties names "bank" twice`},
		{"\"insurer\"", "\"The Insurer\"", `job "credit-risk": party 2: malformed name "The Insurer": want 1 to 32 characters of a-z, 0-9 and "-", the first a letter`},
		{"\"insurer\"", "\"\"", `job "credit-risk": party 2: the name is missing`},
		{"table =", "open_to = \"bank\"\ntable =", `job "credit-risk": a job with task "train" has no model yet and opens no scores: model and open_to must not be set`},
		{"table =", "model = \"12\"\ntable =", `job "credit-risk": model: malformed hash "12": want 64 hexadecimal digits`},
		{"table =", "charter = \"zz\"\ntable =", `job "credit-risk": charter: malformed hash "zz": want 64 hexadecimal digits`},
		{"table =", "shards = 4097\ntable =", `job "credit-risk": shards is 4097, want 1 to 4096`},
		{"table =", "shards = -1\ntable =", `job "credit-risk": shards is -1, want 1 to 4096`},
		{"table =", "proposer = \"telco\"\ntable =", `job "credit-risk": proposer is "telco", want one of its parties`},
		{"table =", "nonce = \"xy\"\ntable =", `job "credit-risk": nonce is "xy", want at most 64 hexadecimal digits`},
		{"table =", "requests = 5\ntable =", `job "credit-risk": requests is 5, want 1 to 16777216 in a predict job, 0 in others`},
		{"table =", "requests = -5\ntable =", `job "credit-risk": requests is -5, want 1 to 16777216 in a predict job, 0 in others`},
		{"table =", "extra = 1\ntable =", `job: line 8: unknown key "extra"`},
	} {
		wantRefusal(t, strings.Replace(goodJob, c.from, c.to, 1), c.want)
	}
	wantRefusal(t, strings.Replace(goodPrediction, "open_to = \"bank\"\n", "", 1),
		`job "credit-scores": a predict job names its model and who the scores open to: model and open_to must be set`)
	wantRefusal(t, strings.Replace(goodPrediction, "open_to = \"bank\"", "open_to = \"telco\"", 1),
		`job "credit-scores": open_to is "telco", want one of its parties`)
}

func wantRefusal(t *testing.T, text, want string) {
	t.Helper()
	if _, err := contract.ParseJob([]byte(text)); err == nil || err.Error() != want {
		t.Errorf("error is %v\nwant     %s", err, want)
	}
}

func TestJobMembers(t *testing.T) {
	job, err := contract.ParseJob([]byte(goodJob))
	must(t, err)
	l := newMembers(t, "shop", "bank", "telco", "insurer")
	charter := &keys.Charter{Name: "credit"}
	for _, p := range l.parties {
		charter.Members = append(charter.Members, keys.Member{Name: p.Name, ID: p.ID})
	}
	parties, err := job.Members(charter)
	if want := []contract.Party{l.parties[1], l.parties[3], l.parties[0]}; err != nil || !slices.Equal(parties, want) {
		t.Errorf("the members are %v, error %v, want %v", parties, err, want)
	}
	for _, c := range []struct {
		privacy, least, want string
	}{
		{"masked", "sealed", `job "credit-risk": privacy is "masked", the charter asks for at least "sealed"`},
		{"published", "masked", `job "credit-risk": privacy is "published", the charter asks for at least "masked"`},
		{"published", "", `job "credit-risk": privacy is "published", the charter asks for at least "masked"`}, // the default
		{"masked", "", ""},
		{"published", "published", ""},
	} {
		job.Privacy, charter.Rules.MinPrivacy = c.privacy, c.least
		if _, err := job.Members(charter); text(err) != c.want {
			t.Errorf("error is %q, want %q", text(err), c.want)
		}
	}
	charter.Members = charter.Members[:2]
	job.Privacy, charter.Rules.MinPrivacy, charter.Rules.MinContributors = "masked", "masked", 4
	if _, err := job.Members(charter); text(err) != `job "credit-risk": 3 parties, charter "credit" opens no sum over fewer than 4` {
		t.Errorf("error is %v", err)
	}
	charter.Rules.MinContributors = 3
	if _, err := job.Members(charter); text(err) != `job "credit-risk": party "insurer" is not a member of charter "credit"` {
		t.Errorf("error is %v", err)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// FuzzParseJob: what parses is written as a text that parses to the same job and the same text.
func FuzzParseJob(f *testing.F) {
	f.Add([]byte(goodJob))
	f.Add([]byte(goodPrediction))
	f.Add([]byte(strings.Replace(goodJob, "rate = 0.5", "when = 2020-01-02T03:04:05Z\nlist = [1, 2.5, {a = true}]\n[parameters.deep]\nx = nan\n", 1)))
	f.Fuzz(func(t *testing.T, text []byte) {
		job, err := contract.ParseJob(text)
		if err != nil {
			return
		}
		once, err := job.Text()
		if err != nil {
			t.Fatalf("a job that parses is not written: %v", err)
		}
		again, err := contract.ParseJob(once)
		if err != nil {
			t.Fatalf("a job's own text is refused: %v\n%s", err, once)
		}
		twice, err := again.Text()
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("error %v, the text\n%s\nis written back as\n%s", err, once, twice)
		}
		if job.Parameters, again.Parameters = nil, nil; !reflect.DeepEqual(job, again) {
			t.Fatalf("%+v became %+v", job, again)
		}
	})
}

func TestAggregationIsCheckedWithTheJob(t *testing.T) {
	for _, c := range []struct{ lines, want string }{
		{`aggregation = "secret"`, `aggregation is "secret", want "masked" or "he"`},
		{"privacy = \"published\"\naggregation = \"he\"", `aggregation is "he" and privacy "published": sums in the clear have no protection to choose`},
		{"threshold = 0.5", "threshold is 0.5, want more than 0.5 and at most 1, or 0 to have it chosen"},
		{"threshold = nan", "threshold is NaN, want more than 0.5 and at most 1, or 0 to have it chosen"},
		{"min_contributors = 4", "min_contributors is 4, want 0 to 3, the number of parties"},
		{"min_contributors = -1", "min_contributors is -1, want 0 to 3, the number of parties"},
		{"aggregation = \"he\"\nthreshold = 0.75\nmin_contributors = 3", ""},
	} {
		text := "format = \"hanse-job-v1\"\nname = \"sums\"\nalgorithm = \"fdskl\"\ntask = \"train\"\nparties = [\"bank\", \"insurer\", \"shop\"]\n" + c.lines
		_, err := contract.ParseJob([]byte(text))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: error %v", c.lines, err)
		case c.want != "" && (err == nil || err.Error() != `job "sums": `+c.want):
			t.Errorf("%s: error %v, want %s", c.lines, err, c.want)
		}
	}
}

// TestJobsHaveTheStrongestPrivacyOfTheirKindUnlessTheySayOtherwise: the default stands here alone.
func TestJobsHaveTheStrongestPrivacyOfTheirKindUnlessTheySayOtherwise(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"algorithm = \"fdskl\"\ntask = \"train\"\nparties = [\"a\", \"b\", \"c\"]\n", "sealed"},
		{"algorithm = \"fdskl\"\ntask = \"train\"\nparties = [\"a\", \"b\"]\nprivacy = \"\"\n", "sealed"},
		{"algorithm = \"fdskl\"\ntask = \"train\"\nparties = [\"a\", \"b\", \"c\"]\nprivacy = \"masked\"\n", "masked"},
		{"algorithm = \"fdskl\"\ntask = \"train\"\nparties = [\"a\", \"b\", \"c\"]\nprivacy = \"published\"\n", "published"},
		{"algorithm = \"pofmkl\"\ntask = \"train\"\nparties = [\"a\", \"b\", \"c\"]\nservers = [\"a\"]\n", "masked"},
		{"algorithm = \"fdskl\"\ntask = \"predict\"\nparties = [\"a\", \"b\", \"c\"]\nmodel = \"" + strings.Repeat("0", 64) +
			"\"\nopen_to = \"a\"\n", "sealed"},
	} {
		job, err := contract.ParseJob([]byte("format = \"hanse-job-v1\"\nname = \"j\"\n" + c.text))
		must(t, err)
		if job.Privacy != c.want {
			t.Errorf("privacy is %q, want %q, in\n%s", job.Privacy, c.want, c.text)
		}
	}
}

// TestAJobHasOneNameForAModel, none that reads as a contract, and no text that does not print.
func TestAJobHasOneNameForAModel(t *testing.T) {
	job := func(name, model, label string) string {
		return fmt.Sprintf("format = \"hanse-job-v1\"\nname = %q\nalgorithm = \"fdskl\"\ntask = \"predict\"\nparties = "+
			"[\"a\", \"b\", \"c\"]\n"+
			"model = %q\nopen_to = \"a\"\n[parameters]\nlabel = \"%s\"\n", name, model, label)
	}
	small := strings.Repeat("ab", 32)
	for want, text := range map[string]string{
		"":                              job("scores", small, "y"),
		"want it in small letters":      job("scores", strings.ToUpper(small), "y"),
		"reads as the digits":           job("abcdef01", small, "y"),
		"parameters: a text of 6 bytes": job("scores", small, `y\u001b[2Jx`),
	} {
		_, err := contract.ParseJob([]byte(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
