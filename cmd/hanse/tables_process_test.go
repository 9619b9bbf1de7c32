package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/localnet"
)

// asTheyCome writes three members' tables of the same people as three programs write them: R with NA, pandas with its
// index and NaN behind a spreadsheet with semicolons, decimal commas and euros, and a person with dashes, names and
// dates. The label follows from the telco's codes alone. Rows to score have a region, minutes and a date that the
// others have not.
func asTheyCome(t *testing.T, w *testNetwork) {
	t.Helper()
	for file, from := range map[string]int{"train.csv": 0, "test.csv": 240} {
		bank, insurer, telco := "customer,age,land,default\n", ";claims;since;;\n", "id,name,plan,region,gone,minutes\n"
		for i := from; i < from+240; i++ {
			age, claims := fmt.Sprint(20+i%37), fmt.Sprintf("1.%d%02d,5 €", i%10, i%11)
			region := []string{"north", "south", "east"}[i%3]
			if i%9 == 0 {
				age, claims, region = "NA", "NaN", "-"
			}
			minutes, year := i%50, 2024
			if from > 0 && i%40 == 1 {
				region, minutes = "moon", 49+i // one region, and more minutes than any row of the training
			}
			if i == 300 {
				year = 2031
			}
			code := i * 7919 % 6
			bank += fmt.Sprintf("p%04d,%s,de,%d\n", i, age, code%2)
			insurer += fmt.Sprintf("p%04d;%s;%d/%d/%d;;\n", i, claims, i%12+1, i%28+1, year)
			telco += fmt.Sprintf("p%04d,Person No %d,%d,%s,,%d\n", i, i, code, region, minutes)
		}
		insurer += ";;;;\n"
		for name, text := range map[string]string{"bank": bank, "insurer": insurer, "telco": telco} {
			must(t, os.WriteFile(w.Path(name, file), []byte(text), 0o600))
		}
		options := "na = [\"-\"]\nignore = [\"name\"]\n"
		if file == "train.csv" {
			options += "categorical = [\"plan\"]\nmissing = \"median,level\"\n"
		}
		must(t, os.WriteFile(w.Path("telco", file+".toml"), []byte(options), 0o600))
	}
}

// TestTablesAsTheyCome trains on three tables, each read in its own way, scores rows with a level that training never
// saw, and audits all with the tables and no word of how they are read: the parts of the model say it.
func TestTablesAsTheyCome(t *testing.T) {
	t.Parallel()
	w := newNetwork(t, t.TempDir(), []string{"bank", "insurer", "telco"})
	asTheyCome(t, w)
	location := map[string]string{"bank": "?id=customer&levels=error", "telco": "",
		"insurer": "?id=index&dates=mdy&delimiter=;&decimal=,&thousands=.&units=€"}
	w.args = func(name string) []string {
		args := w.Args(name, localnet.Node{Workers: 1})
		for _, table := range []string{"train", "test"} {
			args = append(args, "--data", table+"="+w.Path(name, table+".csv")+location[name])
		}
		return args
	}
	for _, name := range w.Names {
		w.start(name)
	}
	if log := w.log("telco"); !strings.Contains(log, `column "gone": it is empty and left out`) {
		t.Errorf("the telco's node says of its tables\n%s", log)
	}
	const text = `format = "hanse-job-v1"
name = "credit"
algorithm = "fdskl"
task = "train"
privacy = "masked"
record = "full"
parties = ["bank", "insurer", "telco"]
[parameters]
active = ["bank"]
label = "default"
features = 64
loss = "square"
seed = "s"
`
	job, err := w.client("bank").Prepare(t.Context(), []byte(text), func(jobs.Event) {})
	must(t, err)
	for _, want := range []string{"your table train, of which others learn none of this",
		`missing cells: "age" 27; numbers get the median`, `column "land": it has one value and is left out`} {
		if !strings.Contains(job.Summary, want) {
			t.Errorf("before consent bank reads\n%s\nwithout %s", job.Summary, want)
		}
	}
	if strings.Contains(job.Summary, "gone") {
		t.Errorf("before consent bank reads of the telco's columns\n%s", job.Summary)
	}
	if _, err := w.client("bank").Launch(t.Context(), job.Contract, func(jobs.Event) {}); err != nil {
		t.Fatalf("%v\n%s", err, w.log("telco"))
	}
	hanse := func(name string, args ...string) (string, error) {
		out, err := exec.Command(w.program, append(args, "--dir", w.Path(name, "node"))...).Output()
		return string(out), err
	}
	scores, err := hanse("bank", "predict", "--yes", "--model", "credit", "--table", "test")
	if err != nil {
		t.Fatalf("%v\n%s", err, w.log("bank"))
	}
	wrong := 0
	for i, line := range strings.Split(strings.TrimSpace(scores), "\n")[1:] {
		if label := strings.Split(line, ",")[2]; label != fmt.Sprint((240+i)*7919%6%2) {
			wrong++
		}
	}
	if wrong > 12 { // codes that are read as numbers give half
		t.Errorf("%d of 240 rows have the wrong label", wrong)
	}
	for name, never := range map[string]struct{ json, says string }{
		"telco": {`"unseen":[{"column":"region","rows":6,"levels":["moon"]},` +
			`{"column":"minutes","rows":6,"range":{"low":0,"high":49,"farthest":490}}]`,
			`column "minutes": 6 rows with numbers that training never saw (490; it had 0 to 49)`},
		"insurer": {`"range":{"low":19723,"high":20085,"farthest":22300,"days":true}}]`,
			`column "since": 1 row with numbers that training never saw (2031-01-21; it had 2024-01-01 to 2024-12-28)`},
	} {
		out, err := hanse(name, "result", "credit-scores", "--json")
		if err != nil || !strings.Contains(out, never.json) {
			t.Errorf("the %s's result is (%v)\n%s", name, err, out)
		}
		out, err = hanse(name, "result", "credit-scores")
		if text := strings.Join(strings.Fields(out), " "); err != nil || !strings.Contains(text, never.says) {
			t.Errorf("the %s reads (%v)\n%s", name, err, out)
		}
		if log := w.log(name); !strings.Contains(log, "warn "+never.says) {
			t.Errorf("the %s's log is\n%s", name, log)
		}
	}
	bank := w.log("bank")
	if log := w.log("telco"); !strings.Contains(log, `warn column "region": 6 rows with what training never saw ("moon"), `+
		"scored as none of its levels") || strings.Contains(bank, "moon") || strings.Contains(bank, "(490") {
		t.Errorf("the telco's log is\n%s\nthe bank's\n%s", log, bank)
	}
	for _, job := range []string{"credit", "credit-scores"} {
		args := []string{"audit", job, "--json", "--charter", w.CharterFile()}
		for _, name := range w.Names {
			args = append(args, "--dir", w.Path(name, "node"))
			file := "train.csv"
			if job == "credit-scores" {
				file = "test.csv"
			}
			if err := os.RemoveAll(w.Path(name, file+".toml")); err != nil { // the model part says it
				t.Fatal(err)
			}
			args = append(args, "--data", name+"="+w.Path(name, file))
		}
		out, err := exec.Command(w.program, args...).Output()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		var r audit.Report
		if err := json.Unmarshal(out, &r); err != nil {
			t.Fatalf("audit of %s: %v\n%s\n%s", job, err, out, exit.Stderr)
		}
		if r.Verdict != audit.Disclosed {
			t.Errorf("verdict on %s is %s: %s", job, r.Verdict, r.Summary)
		}
	}
}

// TestNodeWithABadTable starts nodes with tables that no job could use: they do not come up, and say why.
func TestNodeWithABadTable(t *testing.T) {
	t.Parallel()
	w := newNetwork(t, t.TempDir(), []string{"bank", "insurer", "telco"})
	for _, c := range []struct{ name, text, options, want string }{
		{"ragged", "id,age\na,1\nb,1,2\n", "", "row 2 (line 3) has 3 cells; the header has 2"},
		{"index", ",age\n0,1\n1,2\n", "", "column 1 has no name, as where pandas or R wrote the rows' index"},
		{"absent", "id,age\na,1\nb,2\n", "?ignore=name", `no ignored column "name"; the columns are "id", "age"`},
		{"twice", "key,age\na,1\na,2\n", "?id=key", `row 1 (line 2) and row 2 (line 3) have the same id "a"`},
		{"unknown", "id,age\na,1\nb,2\n", "?missing=guess", `unknown way "guess" to treat missing values`},
		{"empty", "", "", "the file is empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "train.csv")
			must(t, os.WriteFile(path, []byte(c.text), 0o600))
			args := append(w.Args("bank", localnet.Node{Workers: 1}), "--data", "train="+path+c.options)
			out, err := exec.CommandContext(t.Context(), w.program, args...).CombinedOutput()
			if err == nil || !strings.Contains(string(out), c.want) {
				t.Errorf("the node ended with %v and said\n%s\nwant %s", err, out, c.want)
			}
		})
	}
}
