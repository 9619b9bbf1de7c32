package render

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/audit/finding"
)

// contractHash stands for the hash of a contract.
var contractHash = strings.Repeat("3fb20c9a71d4e586", 4)

// ref returns a pointer to a number.
func ref(v float64) *float64 { return &v }

// fourParties are the four parties of the fixtures, with their columns.
func fourParties() []finding.Party {
	return []finding.Party{
		{Name: "bank", ID: "hanse1bank", Role: "active", Columns: 23, Audited: true},
		{Name: "insurer", ID: "hanse1insurer", Role: "passive", Columns: 31, Audited: true},
		{Name: "telco", ID: "hanse1telco", Role: "passive", Columns: 18, Audited: true},
		{Name: "retailer", ID: "hanse1retailer", Role: "passive", Columns: 46, Audited: true},
	}
}

// credit is what all fixtures share: a training on 15,000 rows and a test on 5,000.
func credit(privacy string) finding.Report {
	r := finding.Report{
		Job: finding.Job{
			Name: "credit-risk", Algorithm: "fdskl", Task: "train", Privacy: privacy, Topology: "tree",
			Contract: contractHash, Rows: 15000, Parties: fourParties(),
		},
		Checks:  soundChecks(),
		Egress:  creditEgress(),
		Seconds: 74.2,
		Unchecked: []string{
			"What a party did with its own data before the job began: the transcripts start with the first frame.",
			"Whether two parties exchanged anything outside this program: that would take their other network logs.",
			"Rows beyond a sample of 4,096: the difference attack takes that many of 15,000; --rows 15000 takes all, in about five minutes.",
		},
	}
	for i, p := range r.Job.Parties {
		r.Transcripts = append(r.Transcripts, finding.Transcript{
			Party: p.Name, Path: "/var/lib/hanse/jobs/3fb20c9a/transcript-" + p.Name,
			Records: uint64(14203 - 890*i), Sessions: 1,
			BytesSent: 41_283_104, BytesReceived: 41_283_104, Countersigned: 1, Kept: true,
			First: fmt.Sprintf("2026-11-20T12:00:0%dZ", i), Last: "2026-11-20T12:03:41Z",
		})
	}
	return r
}

// soundChecks is what an honest run passes.
func soundChecks() []finding.Check {
	var out []finding.Check
	for _, p := range fourParties() {
		for _, name := range []string{"hash chain", "seals", "countersignatures", "egress budget"} {
			out = append(out, finding.Check{Name: name, Party: p.Name, Verdict: finding.Passed,
				Detail: "Every record of " + p.Name + " holds."})
		}
	}
	return append(out,
		finding.Check{Name: "both ends agree", Verdict: finding.Passed,
			Detail: "Every frame sent was received, with equal bytes."},
		finding.Check{Name: "fresh keys", Verdict: finding.Passed, Detail: "No session key is used twice."},
		finding.Check{Name: "one-time masks", Verdict: finding.Passed, Detail: "No payload of masked words occurs twice."})
}

// creditEgress is the traffic of four parties summing over a tree to the bank.
func creditEgress() []finding.Egress {
	var out []finding.Egress
	for _, link := range [][2]string{{"insurer", "bank"}, {"telco", "insurer"}, {"retailer", "bank"}} {
		out = append(out,
			finding.Egress{From: link[0], To: link[1], Kind: "angles", Class: "masked", Encoding: "turns16", BudgetFrames: 3662,
				BudgetBytes: 30_720_000, Frames: 3662, Bytes: 30_720_000},
			finding.Egress{From: link[0], To: link[1], Kind: "test-angles", Class: "masked", Encoding: "turns16",
				BudgetFrames: 1222, BudgetBytes: 12_288_000, Frames: 1221, Bytes: 10_240_000},
			finding.Egress{From: link[0], To: link[1], Kind: "distances", Class: "masked", Encoding: "fixed64",
				BudgetFrames: 4, BudgetBytes: 16_384, Frames: 4, Bytes: 16_000},
			finding.Egress{From: link[0], Kind: "hello", Class: "control", Encoding: "bytes", Frames: 3, Bytes: 288})
	}
	return append(out,
		finding.Egress{From: "bank", Kind: "target", Class: "control", Encoding: "bytes", BudgetFrames: 3,
			BudgetBytes: 768, Frames: 3, Bytes: 96},
		finding.Egress{From: "bank", Kind: "width", Class: "control", Encoding: "float64", BudgetFrames: 3,
			BudgetBytes: 24, Frames: 3, Bytes: 24})
}

// angles is the line of the ledger that every FDSKL job has.
func angles(v finding.Verdict) finding.Learned {
	return finding.Learned{
		Party: "bank", Kind: "angles", One: "angle", Many: "angles", Declared: 15_360_000, Count: 15_360_000,
		Features: 1024, UnknownColumns: 95, Rank: 95, Contributors: 4, Verdict: v,
		Meaning: "An angle mixes all columns of one row. From 1,024 of them the bank can compute the difference between any two rows in every column of the other parties",
	}
}

// small is the rest of the ledger.
func small() []finding.Learned {
	out := []finding.Learned{{Party: "bank", Kind: "distances", One: "distance", Many: "distances", Declared: 2000,
		Count: 2000, Contributors: 4, Verdict: finding.Clean,
		Meaning: "Distances of 2,000 sampled pairs of rows over all columns, for the width of the kernel"}}
	for _, p := range fourParties()[1:] {
		out = append(out, finding.Learned{Party: p.Name, Kind: "classes", One: "class name", Many: "class names",
			Declared: 2, Count: 2, Verdict: finding.Clean,
			Meaning: "The names of the two classes of the label"})
	}
	return out
}

// cloud is true against rebuilt differences: exact to within noise, or not related when blind.
func cloud(seed uint64, noise float64, blind bool) *finding.Plot {
	rng := rand.New(rand.NewPCG(seed, 1))
	p := &finding.Plot{Kind: "scatter", Title: "Differences between rows, columns of the other parties",
		X: "true difference", Y: "rebuilt difference"}
	for range 400 {
		x := rng.Float64() - rng.Float64()
		if rng.Float64() < 0.4 {
			x = float64(rng.IntN(3) - 1)
		}
		y := x + noise*rng.NormFloat64()
		if blind {
			y = 0.45 * rng.NormFloat64()
		}
		p.Points = append(p.Points, [2]float64{x, y})
	}
	return p
}

// words is a histogram of masked words, even but for chance.
func words(seed uint64) *finding.Plot {
	rng := rand.New(rand.NewPCG(seed, 2))
	p := &finding.Plot{Kind: "histogram", Title: "Masked words of 16 bits, in 64 equal parts",
		X: "word, as a share of a full turn", Y: "words", Lo: 0, Hi: 1, Expect: 240_000}
	for range 64 {
		p.Counts = append(p.Counts, int64(240_000+490*rng.NormFloat64()))
	}
	return p
}

// difference is a difference attack that rebuilt everything.
func difference(party, view string, v finding.Verdict, rms float64, detail string) finding.Attack {
	a := finding.Attack{
		Name: "difference", Party: party, View: view, Rows: 4096, UnknownColumns: 95, Equations: 1024,
		RecoveredShare: ref(1), RMS: ref(rms), ControlRMS: ref(0.3127), ControlShare: ref(1), Verdict: v, Detail: detail,
		Plot: cloud(7, rms, false),
	}
	for _, p := range fourParties()[1:] {
		for i := range p.Columns {
			a.Columns = append(a.Columns, finding.Column{Party: p.Name, Name: fmt.Sprintf("%s-%02d", p.Name, i+1),
				RMS: rms * (0.8 + 0.01*float64(i)), R2: 1 - rms*rms})
		}
	}
	return a
}

// blind is a difference attack on masked words, which gains nothing.
func blind(party string, seed uint64) finding.Attack {
	return finding.Attack{
		Name: "difference", Party: party, View: "tree parent", Rows: 4096, UnknownColumns: 87, Equations: 1024,
		RecoveredShare: ref(0), RMS: ref(0.4713), ControlRMS: ref(0.4698), ControlShare: ref(1), Verdict: finding.Clean,
		Detail: "What the parent received is noise to it: the attack did no better than on shuffled rows", Plot: cloud(seed, 0, true),
	}
}

// quiet is the rest of the attacks, which find nothing.
func quiet() []finding.Attack {
	return []finding.Attack{
		{Name: "uniformity", Party: "bank", View: "tree parent", Rows: 15000, Statistic: ref(0.31), Verdict: finding.Clean,
			Detail: "Masked words are as even as noise", Plot: words(3)},
		{Name: "uniformity", Party: "insurer", View: "tree parent", Rows: 15000, Statistic: ref(0.072),
			Verdict: finding.Clean, Detail: "Masked words are as even as noise", Plot: words(4)},
		{Name: "mask reuse", Rows: 15000, Statistic: ref(0.44), Verdict: finding.Clean,
			Detail: "No two of 19,540 payloads are related"},
		{Name: "known rows", Party: "insurer", View: "tree parent", Rows: 4096, Statistic: ref(0.004), Verdict: finding.Clean,
			Detail: "Knowing a fifth of the rows did not help with the others"},
		{Name: "label leakage", Party: "telco", View: "passive party", Rows: 15000, Statistic: ref(0.61),
			Verdict: finding.Clean, Detail: "Nothing that the party saw goes with the labels"},
		{Name: "membership", Party: "retailer", View: "passive party", Verdict: finding.Skipped, Detail: "Alignment was done before the job, outside these transcripts"},
	}
}

// disclosed is the masked job: the bank can rebuild the tables, as the contract says.
func disclosed() *finding.Report {
	r := credit("masked")
	r.Verdict = finding.Disclosed
	r.Summary = "From the angles that the contract opens to it, the bank can rebuild the rows of all other parties: 100 % of 4,096 rows within 1 % in every one of 95 columns, error 0.00011. Nobody else gained anything."
	r.Ledger = append([]finding.Learned{angles(finding.Disclosed)}, small()...)
	r.Attacks = append([]finding.Attack{
		difference("bank", "active party", finding.Disclosed, 0.00011, "From 1,024 angles for each row the bank rebuilds the differences of all 95 columns of the others; with columns scaled to their range it has the values. The contract declares it"),
		blind("insurer", 11),
	}, quiet()...)
	return &r
}

// published is the job in the published mode: tree parents rebuild their children's tables.
func published() *finding.Report {
	r := credit("published")
	r.Verdict = finding.Leak
	r.Summary = "In published mode the insurer rebuilt the telco's table exactly from the messages it passed on: 100 % of 4,096 rows, error 4e-14. The bank rebuilt the tables of all other parties."
	for i := range r.Egress {
		if r.Egress[i].Class == "masked" {
			e := &r.Egress[i]
			e.Class, e.Encoding, e.BudgetBytes, e.Bytes = "published", "float64", 8*e.BudgetBytes, 8*e.Bytes
		}
	}
	r.Ledger = append([]finding.Learned{angles(finding.Leak)}, small()...)
	telco := difference("insurer", "tree parent", finding.Leak, 4.1e-14, "The mask of a feature is the same for every row, so that the difference of two rows is free of it. The insurer rebuilds all 18 columns of the telco, which no contract can declare")
	telco.UnknownColumns, telco.Columns = 18, telco.Columns[31:49]
	telco.Plot.Title = "Differences between rows, columns of the telco"
	r.Attacks = append([]finding.Attack{
		telco,
		difference("bank", "active party", finding.Leak, 2.8e-14, "The bank rebuilds the differences of all 95 columns of the other parties"),
	}, quiet()...)
	r.Attacks[2].Verdict, r.Attacks[2].Statistic = finding.Leak, ref(3.2e-211)
	r.Attacks[2].Detail = "What the bank received is no noise: the counts depart from even ones by far more than chance"
	for i := range r.Attacks[2].Plot.Counts {
		r.Attacks[2].Plot.Counts[i] += int64(9000 * ((i+40)%64 - 32) / 4)
	}
	return &r
}

// spotless is a job that opens scores only.
func spotless() *finding.Report {
	r := credit("sealed")
	r.Verdict = finding.Clean
	r.Summary = "No attack gained anything: 9 were run on all transcripts, with controls that find what there is to find."
	for i, share := range []string{"label holder", "keeper", "helper"} {
		r.Job.Parties[i].Share = share
	}
	r.Origin = finding.Origin{Member: "bank", ID: "hanse-id1bank", Program: "hanse 1.0.0, go1.26",
		At: "2026-11-21T09:30:00Z", Columns: []string{"age", "income", "default"}}
	r.Job.Charter = strings.Repeat("91d70b2c44aef835", 4)
	for i := range r.Transcripts {
		r.Transcripts[i].SHA256 = strings.Repeat(fmt.Sprintf("%016x", 0xc0ffee+i), 4)
	}
	r.Ledger = []finding.Learned{{Party: "bank", Kind: "scores", Plain: "the model's results for the rows asked about, which the job is for", Declared: 15000, Count: 15000, Contributors: 4, Verdict: finding.Clean,
		Bits: 120000, Models: 1, BitsPerRow: 8, UnknownColumns: 95, Entropy: ref(301.5), Meaning: "One number for each row: the prediction itself. It is far less than the columns it was computed from"}}
	r.Attacks = append([]finding.Attack{blind("insurer", 12), blind("bank", 13)}, quiet()...)
	return &r
}

// broken is a run whose transcripts do not fit.
func broken() *finding.Report {
	r := credit("masked")
	r.Verdict = finding.Unverifiable
	r.Summary = "The transcript of the telco was changed after it was written: record 8,121 does not follow from the one before it. No attack was run on it."
	r.Job.Parties[3].Audited = false
	r.Transcripts = r.Transcripts[:3]
	r.Transcripts[2].Cut, r.Transcripts[2].Countersigned = true, 0.71
	r.Checks[8] = finding.Check{Name: "hash chain", Party: "telco", Verdict: finding.Failed, Detail: "Record 8,121 names 5ac1e0... as the hash of the record before it, which is 91d733..."}
	r.Checks = append(r.Checks,
		finding.Check{Name: "egress budget", Party: "insurer", Verdict: finding.Leak, Detail: "It sent 43.1 MB of angles to the bank, where the contract allows 30.7 MB"},
		finding.Check{Name: "countersignatures", Party: "retailer", Verdict: finding.Skipped, Detail: "Its transcript was not given, so that only the other ends of its lines were checked"})
	r.Egress[0].Bytes, r.Egress[0].Frames = 43_122_688, 5140
	r.Ledger = append([]finding.Learned{angles(finding.Disclosed)}, small()...)
	for _, name := range []string{"difference", "uniformity", "mask reuse"} {
		r.Attacks = append(r.Attacks, finding.Attack{Name: name, Party: "telco", View: "leaf", Verdict: finding.Skipped, Detail: "The transcript is not what was recorded, so that nothing would follow from it"})
	}
	r.NotLookedAt = []string{"The transcripts of retailer were not read: of what it saw, only the others' transcripts and signatures speak."}
	return &r
}

// partial is what one member alone can look at of a job that opens scores only.
func partial() *finding.Report {
	r := spotless()
	r.Verdict, r.Exit = finding.Partial, audit.ExitPartial
	r.Summary = "Not read: the transcripts of insurer, telco and retailer. Nothing was found in what was looked at; that leaves out 1 attack not tried. 7 checks passed. 2 attacks found nothing."
	for i := range r.Job.Parties[1:] {
		r.Job.Parties[1+i].Audited = false
	}
	r.Transcripts, r.Attacks = r.Transcripts[:1], r.Attacks[1:4]
	r.Attacks[2] = finding.Attack{Name: "known rows", Party: "bank", View: "tree parent", Verdict: finding.Skipped,
		Detail: "not tried: the columns of telco are needed"}
	r.NotLookedAt = []string{
		"The transcripts of insurer, telco and retailer were not read: of what they saw, only the others' transcripts and signatures speak.",
		"The attack known rows on bank's view (tree parent): not tried: the columns of telco are needed.",
	}
	return r
}

// fixtures are the reports of the golden files by name.
func fixtures() map[string]*finding.Report {
	return map[string]*finding.Report{"disclosed": disclosed(), "leak": published(), "clean": spotless(),
		"partial": partial(), "unverifiable": broken()}
}

// must ends the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
