// Package toy holds that algorithms are added to the list of a federation's nodes, and to the list of the program,
// without a change of any other package. The algorithms stand in testdata, each in a package of its own.
package toy

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/auditing"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/page"
	"github.com/hanse-project/hanse/internal/toy/testdata/line"
	"github.com/hanse-project/hanse/protocol/contract"
)

// lineRows is how many rows the tables of a line have.
const lineRows = 100

// writeLine writes tables of as many columns for each party into dir. The first has the label, which is a line over the
// sum of all columns; all columns have values from 0 to 10.
func writeLine(t *testing.T, dir string, columns int, names ...string) {
	draw := rand.New(rand.NewPCG(3, 4))
	sums, files := make([]float64, lineRows), make([]string, len(names))
	for r := range lineRows {
		for i := range names {
			files[i] += fmt.Sprintf("r%03d", r)
			for range columns {
				x := math.Round(1e3*draw.Float64()) / 100
				if r < 2 {
					x = float64(10 * r)
				}
				sums[r] += x
				files[i] += fmt.Sprintf(",%g", x)
			}
			if i > 0 {
				files[i] += "\n"
			}
		}
		files[0] += fmt.Sprintf(",%g\n", lineOf(sums[r]))
	}
	for i, name := range names {
		head := "id"
		for c := range columns {
			head += fmt.Sprintf(",c%d_%d", i, c)
		}
		if i == 0 {
			head += ",y"
		}
		must(t, os.WriteFile(filepath.Join(dir, name+".csv"), []byte(head+"\n"+files[i]), 0o600))
	}
}

// lineOf is the label of a row whose columns have a sum.
func lineOf(sum float64) float64 { return 5 - 2*sum }

// lineJob is a job by the line but for what its task wants.
func lineJob(name, task string) string {
	return fmt.Sprintf("format = \"hanse-job-v1\"\nname = %q\nalgorithm = \"line\"\ntask = %q\n"+
		"parties = [\"bank\", \"insurer\", \"telco\"]\nprivacy = \"masked\"\nrecord = \"full\"\ntable = \"train\"\n", name, task)
}

// lineParameters are those of a training by the line.
const lineParameters = "[parameters]\nactive = [\"bank\"]\nlabel = \"y\"\ntarget = \"regression\"\n"

// TestAnAlgorithmOverColumnsIsAddedToTheList is all that an algorithm over columns needs: an entry. The truth is the
// line that the tables are made by.
func TestAnAlgorithmOverColumnsIsAddedToTheList(t *testing.T) {
	list := registry.Program()
	list.Columns = append(list.Columns, line.Algorithm())
	o := newOffice(t, list, []string{contract.TaskTrain, contract.TaskPredict}, "bank", "insurer", "telco")
	writeLine(t, o.dir, 2, o.names...)
	o.start()
	trained, report := o.run(lineJob("fit", contract.TaskTrain) + lineParameters)
	if report.Figures == nil || report.Figures.Numbers.R2.Value < 1-1e-6 || report.Rows != lineRows {
		t.Errorf("the report is %+v", report)
	}
	o.counted(trained, map[string]int64{"sums": 1, "line": 1})
	for i := range o.names {
		part, err := node.ReadModel(list, filepath.Join(o.dir, o.names[i], "jobs", trained.Hash().String()))
		must(t, err)
		if m := part.Model(); m.Contract != trained.Hash() || len(m.Columns) != 2 || m.Goal.Label != "y" {
			t.Errorf("the part of %s is %+v", o.names[i], m)
		}
	}
	scored, report := o.run(lineJob("score", contract.TaskPredict) + fmt.Sprintf("model = %q\nopen_to = \"bank\"\n",
		trained.Hash()))
	o.counted(scored, map[string]int64{"sums": 1})
	other := strings.Replace(lineJob("other", contract.TaskPredict), `"line"`, `"fdskl"`, 1) +
		fmt.Sprintf("model = %q\nopen_to = \"bank\"\n", trained.Hash())
	if _, err := o.nodes[0].Prepare(o.ctx, []byte(other), nil); err == nil ||
		!strings.Contains(err.Error(), `algorithm is "fdskl", the model was trained by "line"`) {
		t.Errorf("a prediction by the name of another algorithm: %v", err)
	}
	text, err := os.ReadFile(report.Scores)
	must(t, err)
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	must(t, err)
	own, err := os.ReadFile(filepath.Join(o.dir, "bank.csv"))
	must(t, err)
	for i, row := range strings.Fields(string(own))[1:] {
		cells := strings.Split(row, ",")
		want, err := strconv.ParseFloat(cells[3], 64)
		must(t, err)
		got, err := strconv.ParseFloat(rows[i+1][1], 64)
		if err != nil || rows[i+1][0] != cells[0] || math.Abs(got-want) > 1e-5 {
			t.Fatalf("row %d is scored %v, %v, want %s and %v", i+1, rows[i+1], err, cells[0], want)
		}
	}

	o.shown(1, "sums", trained, scored)

	// An auditor who knows the algorithm, and one who does not: only the first can read tables and parts of the model.
	for _, c := range []*contract.Contract{trained, scored} {
		for _, known := range []registry.List{{}, list} {
			request := auditing.Request{Told: t.Output(), Algorithms: known}
			for _, name := range o.names {
				folder := filepath.Join(o.dir, name, "jobs", c.Hash().String())
				request.Given = append(request.Given, filepath.Join(folder, node.TranscriptFile))
				if known.Columns != nil {
					request.Data = append(request.Data, name+"="+filepath.Join(o.dir, name+".csv"))
				}
			}
			in, err := auditing.Read(request)
			must(t, err)
			if read := len(in.Columns) == len(o.names) && in.Columns[1] != nil; read != (known.Columns != nil) {
				t.Errorf("columns %v, want them where the algorithm is known", in.Columns)
			}
			r, err := audit.Run(context.Background(), in)
			must(t, err)
			if r.Verdict == finding.Leak || r.Verdict == finding.Clean {
				t.Errorf("%s of %s: %s", r.Verdict, c.Job.Name, r.Summary)
			}
			for _, check := range r.Checks {
				if check.Verdict == finding.Failed {
					t.Errorf("%s %s %s: %s", check.Party, check.Name, check.Verdict, check.Detail)
				}
			}
			for _, l := range r.Ledger {
				if l.Count != l.Declared && l.Kind != contract.KindRowset {
					t.Errorf("%s learned %d %s, declared are %d", l.Party, l.Count, l.Kind, l.Declared)
				}
			}
		}
	}
}

// counted holds that a contract lists each kind so often.
func (o *office) counted(c *contract.Contract, want map[string]int64) {
	o.t.Helper()
	for kind, n := range want {
		if !slices.ContainsFunc(c.Operations, func(o contract.Operation) bool { return o.Kind == kind && o.Count == n }) {
			o.t.Errorf("the contract lists no %d operations of %s: %+v", n, kind, c.Operations)
		}
	}
}

// run has the first party propose a job, and waits until all have done it.
func (o *office) run(text string) (*contract.Contract, *jobs.Report) {
	o.t.Helper()
	o.done.Add(len(o.names))
	c, err := o.nodes[0].Prepare(o.ctx, []byte(text), nil)
	must(o.t, err)
	report, err := o.nodes[0].Launch(o.ctx, c.Hash(), nil)
	must(o.t, err)
	finished := make(chan struct{})
	go func() { o.done.Wait(); close(finished) }()
	select {
	case <-finished:
	case <-o.ctx.Done():
		o.t.Fatal("not all parties have done the job")
	}
	sent, forecast := report.BytesOut, report.Forecast.Forecast.Sent
	if forecast.Fixed < 1 || sent < forecast.Fixed || sent > forecast.Most {
		o.t.Errorf("%s sent %d bytes, forecast %s", o.names[0], sent, forecast)
	}
	return c, report
}

// shown holds that the page of the i-th party shows jobs: their names, their algorithms, and a kind of what opens.
func (o *office) shown(i int, kind string, all ...*contract.Contract) {
	o.t.Helper()
	n := o.nodes[i]
	p, err := page.New(page.Config{Status: n.Status, Contract: n.Contract, Report: n.Report, Ledger: n.Ledger,
		Algorithms: o.configs[i].Algorithms})
	must(o.t, err)
	defer p.End()
	server := httptest.NewServer(p.Handler())
	defer server.Close()
	jar, err := cookiejar.New(nil)
	must(o.t, err)
	browser := &http.Client{Jar: jar}
	entered, err := browser.PostForm(p.Link(strings.TrimPrefix(server.URL, "http://"), "alice"), nil)
	must(o.t, err)
	must(o.t, entered.Body.Close())
	for _, c := range all {
		answer, err := browser.Get(entered.Request.URL.String() + "job/" + c.Hash().String())
		must(o.t, err)
		text, err := io.ReadAll(answer.Body)
		must(o.t, errors.Join(err, answer.Body.Close()))
		for _, want := range []string{c.Job.Name, c.Job.Algorithm, kind} {
			if !strings.Contains(string(text), want) {
				o.t.Errorf("the page of job %s says nothing of %q:\n%s", c.Job.Name, want, text)
			}
		}
	}
}
