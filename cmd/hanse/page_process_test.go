package main

import (
	"bufio"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
)

// TestPageOfARunningNode: hanse page gives a link to a real node's page; a proposal that waits there is approved on it,
// in the name of who opened it, and the end of the job comes to the open page by its stream.
func TestPageOfARunningNode(t *testing.T) {
	t.Parallel()
	w := newColumns(t, 100)
	w.args = func(name string) []string { // telco has no policy: its owner decides
		args := w.NodeArgs(name, 1)
		if at := slices.Index(args, "--policy"); name == "telco" {
			args = slices.Delete(args, at, at+2)
		}
		return args
	}
	for _, name := range w.Names {
		w.start(name)
	}
	contract := w.prepare(fdskl.Params{Features: 8}, fdskl.Masked, "")
	bank := w.client("bank")
	ended := make(chan error, 1)
	go func() {
		_, err := bank.Launch(t.Context(), contract, func(jobs.Event) {})
		ended <- err
	}()
	awaitLog(t, w, "telco", "a job is proposed", contract[:8])

	out, err := exec.Command(w.program, "page", "--dir", w.Path("telco", "node")).Output()
	must(t, err)
	jar, err := cookiejar.New(nil)
	must(t, err)
	browser := &http.Client{Jar: jar}
	get := func(address string) string {
		t.Helper()
		response, err := browser.Get(address)
		must(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v", address, response.Status, err)
		}
		return string(text)
	}
	link, err := url.Parse(strings.TrimSpace(string(out)))
	must(t, err)
	get(link.String()) // shows a button, and opens nothing
	entered, err := browser.PostForm(link.String(), nil)
	must(t, err)
	entered.Body.Close()
	base := entered.Request.URL
	overview := get(base.String())
	for _, want := range []string{"Waits for you", "trial", ">bank<", ">insurer<", ">retailer<", "job/" + contract} {
		if !strings.Contains(overview, want) {
			t.Errorf("the page does not show %q:\n%s", want, overview)
		}
	}

	stream, err := browser.Get(base.String() + "events/" + contract)
	must(t, err)
	defer stream.Body.Close()
	j := base.String() + "job/" + contract
	form := regexp.MustCompile(`name="form" value="(\w+)"`).FindStringSubmatch(get(j))
	if form == nil {
		t.Fatal("the proposal has no form")
	}
	response, err := browser.PostForm(j+"/approve", url.Values{"form": {form[1]}})
	must(t, err)
	response.Body.Close()
	must(t, <-ended)
	lines := bufio.NewScanner(stream.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "Result") && strings.Contains(lines.Text(), `"id":"outcome"`) {
			break
		}
	}
	if err := lines.Err(); err != nil {
		t.Errorf("the end of the job does not come by the stream: %v", err)
	}
	all, err := w.client("telco").Jobs(t.Context())
	must(t, err)
	if len(all) != 1 || all[0].State != job.Done || all[0].Consent == nil || all[0].Consent.Person == "" {
		t.Errorf("telco has %+v", all)
	}
	if err := w.client("telco").ClosePage(t.Context()); err != nil {
		t.Error(err)
	}
	if response, err := browser.Get(base.String()); err == nil {
		response.Body.Close()
		t.Error("a page that was closed answers")
	}
}
