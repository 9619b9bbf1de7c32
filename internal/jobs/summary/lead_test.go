package summary

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// goldens reads the contract of every kind of job that there is.
func goldens(t *testing.T) map[string]*contract.Contract {
	t.Helper()
	paths, err := filepath.Glob("../../golden/testdata/*/contract.toml")
	if err != nil || len(paths) < 25 {
		t.Fatalf("%d golden contracts, %v", len(paths), err)
	}
	all := make(map[string]*contract.Contract)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if all[filepath.Base(filepath.Dir(path))], err = contract.ParseContract(data); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestTheFirstSentenceSaysWhatOthersLearn: a proposal that gives rows away and one that gives nothing away begin with
// other words.
func TestTheFirstSentenceSaysWhatOthersLearn(t *testing.T) {
	all := goldens(t)
	for _, c := range []struct {
		job, party string
		exposure   Exposure
		text       string
	}{
		{"fdskl-masked-tree", "telco", Rebuilt, "bank will be able to rebuild your 2 columns of 40 people."},
		{"fdskl-masked-tree", "bank", Hidden, "No other party learns anything of a single one of your rows. You will be able " +
			"to rebuild the others' columns."},
		{"fdskl-published", "bank", Rebuilt, "insurer, telco and retailer will be able to rebuild your 2 columns of 40 " +
			"people."},
		{"fdskl-masked-tree-predict", "telco", Rebuilt, "bank will be able to rebuild your 2 columns of 40 people."},
		{"sealed-square", "telco", Hidden, "No party alone learns anything of a single one of your rows; any two of bank, " +
			"insurer and telco together could rebuild your 2 columns of 40 people."},
		{"sealed-square", "bank", Hidden, "No party alone learns anything of a single one of your rows; any two of bank, " +
			"insurer and telco together could rebuild your 2 columns and your labels of 40 people."},
		{"sealed-square-predict", "telco", Partial, "bank will learn 10 bits of each of 40 people; any two of bank, " +
			"insurer and telco together could rebuild your 2 columns of 40 people."},
		{"sealed-classes-predict", "telco", Partial, "bank will learn 40 bits of each of 40 people; any two of bank, " +
			"insurer and telco together could rebuild your 2 columns of 40 people."},
		{"sealed-logistic", "insurer", Hidden, "No party alone learns anything of a single one of your rows; any two of " +
			"bank, insurer and telco together could rebuild your 2 columns of 64 people."},
		{"glm-points", "bank", Partial, "insurer, telco and retailer will learn how your labels lie in bins, of a bin of one " +
			"row that row's label; any two of bank, insurer and telco together could rebuild your 2 columns and your labels " +
			"of 40 people."},
		{"gfml-published", "baker", Rebuilt, "bank will be able to rebuild your rows and labels: it gets each of your updates " +
			"as it is."},
		{"gfml-masked-diffusion", "baker", Partial, "bank will learn totals of 3 clients' updates or more; the other " +
			"parties get models made of them."},
		{"pofmkl-masked", "telco", Rebuilt, "bank will be able to rebuild your rows: it learns totals of as few as 2 clients; " +
			"the other parties get models made of them."},
		{"ofmsft-masked", "telco", Partial, "bank will learn totals of 3 clients' updates or more; the other parties get models " +
			"made of them. What in a total one row alone has moved shows that row, without your name."},
		{"ofmsft-masked", "bank", Hidden, "You bring no rows to this job: nothing of yours is learned."},
	} {
		got := LeadOf(all[c.job], c.party, Known{Least: 3})
		if want := (Lead{c.text, c.exposure}); got != want {
			t.Errorf("%s at %s begins with\n%+v\nwant\n%+v", c.job, c.party, got, want)
		}
	}
	const two = "; any two of bank, insurer and telco together could rebuild your 2 columns of 40 people."
	told := &consent.Told{Adds: 10, Entropy: 31.4}
	want := Lead{"bank will learn 10 bits of each of 40 people, of about 31 that your columns have (numbers to an eighth)" + two, Partial}
	if got := LeadOf(all["sealed-square-predict"], "telco", Known{Told: told}); got != want {
		t.Errorf("with what the ledger knows it begins with %+v", got)
	}
	bins := all["glm-points"]
	for i := range bins.Openings {
		bins.Openings[i].Count *= 2
	}
	if got := LeadOf(bins, "bank", Known{}); got.Exposure != Rebuilt {
		t.Errorf("with as many bins as a quarter of the rows it begins with %+v", got)
	}
	told.Entropy = 9
	want = Lead{"bank will learn 10 bits of each of 40 people, enough for all cells (numbers to an eighth): your columns have about 9" + two, Rebuilt}
	if got := LeadOf(all["sealed-square-predict"], "telco", Known{Told: told}); got != want {
		t.Errorf("of few bits it begins with %+v", got)
	}
	all["ofmsft-masked"].Job.Algorithm = "other"
	if got := LeadOf(all["ofmsft-masked"], "telco", Known{Least: 3}); got.Exposure != Rebuilt {
		t.Errorf("of an algorithm that is not known it begins with %+v", got)
	}
}

// TestNoJobThatOpensRowsSaysThatItHidesThem: whoever brings rows to a job in which others learn numbers of single rows,
// or every update, reads of it first. The judge is what the ledger counts, which is not what writes the sentence.
func TestNoJobThatOpensRowsSaysThatItHidesThem(t *testing.T) {
	for name, c := range goldens(t) {
		for i, party := range c.Job.Parties {
			two := strings.Contains(LeadOf(c, party, Known{}).Text, "any two of ")
			if want := c.Job.Privacy == keys.PrivacySealed && !c.Job.OverClients() && c.Parties[i].Rows > 0; two != want {
				t.Errorf("%s says to %s what two parties could do together: %t, want %t", name, party, two, want)
			}
			// That all was told before, as the ledger estimates it, hides nothing of what opens.
			lead := LeadOf(c, party, Known{Told: &consent.Told{Adds: 0, Entropy: 31}})
			var bits int64
			for k := range c.Openings {
				if o := &c.Openings[k]; o.To != party {
					its, _ := consent.Weigh(c, o)
					bits += its
				}
			}
			brings := c.Parties[i].Rows > 0 || c.Job.OverClients() && !c.Job.Serves(i)
			open := bits > 0 || c.Job.OverClients() || c.Job.Privacy == keys.PrivacyPublished
			if brings && (open && lead.Exposure == Hidden || !open && lead.Exposure == Rebuilt) {
				t.Errorf("%s opens %d bits of a row and begins at %s with %+v", name, bits, party, lead)
			}
			lead = LeadOf(c, party, Known{})
			head := Of(c, party, Known{}).String()
			if first, _, _ := strings.Cut(head, "\n\n"); strings.Join(strings.Fields(first), " ") != lead.Text {
				t.Errorf("%s: the summary begins with %q", name, first)
			}
		}
	}
}

// TestWhoHasConsentedIsSaid: while somebody has yet to consent, the summary says who has.
func TestWhoHasConsentedIsSaid(t *testing.T) {
	c := goldens(t)["fdskl-masked-tree"]
	for want, consented := range map[string][]string{
		"nobody has consented yet": nil, "bank has consented; insurer, telco and retailer have not yet": {"bank"},
		"bank, insurer and telco have consented; retailer has not yet": {"bank", "insurer", "telco"},
	} {
		text := Of(c, "telco", Known{Awaited: true, Consented: consented}).String()
		if !slices.Contains(strings.Split(text, "\n"), want) {
			t.Errorf("the summary lacks %q:\n%s", want, text)
		}
	}
	if text := Of(c, "telco", Known{}).String(); strings.Contains(text, " consented; ") {
		t.Errorf("the summary of a job that all have consented to speaks of consent:\n%s", text)
	}
}
