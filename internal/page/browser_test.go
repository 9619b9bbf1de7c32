package page

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/hanse-project/hanse/internal/ledger"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/testnet/needs"
)

// patience is how long a browser may take for one thing: it may have a loaded machine for itself.
const patience = 2 * time.Minute

// browser starts Chromium, or skips the test where there is none.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := needs.Program(t, "apt-get install chromium", "chromium", "chromium-browser", "google-chrome")
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP rebound.example 127.0.0.1"))
	all, end := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(end)
	ctx, cancel := chromedp.NewContext(all)
	t.Cleanup(cancel)
	do(t, ctx)
	return ctx
}

// tab opens a page of its own, of a size and in a colour scheme.
func tab(t *testing.T, browser context.Context, width int64, scheme string) context.Context {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	do(t, ctx, func(ctx context.Context, tab *chromedp.Target) (v chromedp.Void, err error) {
		_, err = cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme},
				{Name: "prefers-reduced-motion", Value: "reduce"}}})
		return v, err
	}, chromedp.EmulateViewport(width, 800))
	ctx, end := context.WithTimeout(ctx, patience)
	t.Cleanup(end)
	return ctx
}

// do has a tab do something.
func do(t *testing.T, ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	must(t, chromedp.Do(ctx, steps...))
}

// ask returns what an expression is on a tab's page.
func ask[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// testLooks: at a desktop's and a phone's width, in both schemes, no page is wider than the screen, and its stream is
// on. With HANSE_PAGE_SHOTS a picture of each is left in that folder: docs/page.md shows some.
func testLooks(t *testing.T, chromium context.Context, everything bool) {
	d := example(t)
	shots := os.Getenv("HANSE_PAGE_SHOTS")
	pages := []string{"overview", "proposal", "running", "result"} // the jobs are in this order, too
	looks := []struct {
		size   string
		width  int64
		scheme string
	}{{"desktop", 1280, "light"}, {"phone", 360, "dark"}, {"desktop", 1280, "dark"}, {"phone", 360, "light"}}
	if !everything {
		pages, looks = pages[:2], looks[:2]
	}
	for _, l := range looks {
		ctx := tab(t, chromium, l.width, l.scheme)
		base := enter(t, ctx, d)
		for i, name := range pages {
			path := ""
			if i > 0 {
				path = "job/" + d.status.Jobs[i-1].Contract
			}
			do(t, ctx, chromedp.Navigate(base+path), live)
			wide, screen := ask[int64](t, ctx, "document.documentElement.scrollWidth"), ask[int64](t, ctx, "window.innerWidth")
			back := ask[string](t, ctx, "getComputedStyle(document.body).backgroundColor")
			if wide > l.width || screen != l.width {
				t.Errorf("%s, %s, %s: %d pixels wide on a screen of %d", name, l.size, l.scheme, wide, screen)
			}
			if dark := back == "rgb(16, 19, 23)"; dark != (l.scheme == "dark") {
				t.Errorf("%s, %s: the background is %s with scheme %s", name, l.size, back, l.scheme)
			}
			if aside := ask[string](t, ctx, sideways); aside != "" {
				t.Errorf("%s, %s: is to be moved sideways to be read: %s", name, l.size, aside)
			}
			if shots == "" {
				continue
			}
			picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
			must(t, err)
			file := filepath.Join(shots, strings.Join([]string{"page", name, l.size, l.scheme}, "-")+".png")
			must(t, os.WriteFile(file, picture, 0o644))
		}
	}
}

// sideways finds what is wider than its place and does not show all of itself.
const sideways = `([...document.querySelectorAll("main *:not(.unseen)")].find((e) => e.clientWidth > 0 &&
	e.scrollWidth > e.clientWidth && getComputedStyle(e).overflowX !== "visible" && !e.closest("thead, svg")) ||
	{outerHTML: ""}).outerHTML.slice(0, 120)`

// live waits until the page's stream is on.
var live = chromedp.WaitVisible(chromedp.CSS(`#live[data-state="on"]`))

// enter opens a new link in a tab, and returns where the session's pages begin.
func enter(t *testing.T, ctx context.Context, d *desk) string {
	t.Helper()
	do(t, ctx, chromedp.Navigate(d.page.Link(d.host(), "alice")), chromedp.WaitVisible(chromedp.CSS("#enter")),
		chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(chromedp.CSS("#tiles")), live)
	return ask[string](t, ctx, "location.href")
}

// until waits until an expression is true on a tab's page.
func until(t *testing.T, ctx context.Context, expression string) {
	t.Helper()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(patience))); err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
}

// reach presses Tab until an element has the focus, which must be seen there and at every stop on the way.
func reach(t *testing.T, ctx context.Context, id string) {
	t.Helper()
	for range 40 {
		do(t, ctx, chromedp.KeyEvent(kb.Tab))
		if !ask[bool](t, ctx, `getComputedStyle(document.activeElement).outlineStyle !== "none"`) {
			t.Errorf("nobody sees that %s has the focus", ask[string](t, ctx, "document.activeElement.outerHTML.slice(0, 80)"))
		}
		if ask[string](t, ctx, "document.activeElement.id") == id {
			return
		}
	}
	t.Fatalf("Tab does not come to #%s", id)
}

// testKeyboard: a proposal is read and approved, and another refused with a reason, without a mouse; what a person is
// typing outlasts news.
func testKeyboard(t *testing.T, chromium context.Context) {
	d := example(t)
	other := d.jobOf(proposed(t, "sealed-square", "other"), job.Proposed)
	d.status.Jobs = append(d.status.Jobs, other)
	approved, refused := d.contractOf(t, 0), d.contractOf(t, len(d.status.Jobs)-1)
	ctx := tab(t, chromium, 1280, "light")
	base := enter(t, ctx, d)
	do(t, ctx, chromedp.KeyEvent(kb.Tab))
	if got := ask[string](t, ctx, "document.activeElement.className"); got != "skip" {
		t.Errorf("the first stop is %q, want the link that skips", got)
	}
	reach(t, ctx, "r-"+approved.String()[:8])
	do(t, ctx, chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(chromedp.CSS("#approve")), live)
	reach(t, ctx, "approve")
	do(t, ctx, chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(chromedp.CSS("#state .chip.agreed")))

	do(t, ctx, chromedp.Navigate(base+"job/"+refused.String()), live)
	reach(t, ctx, "reason")
	do(t, ctx, chromedp.KeyEvent("not before"))
	d.change(func(s *node.Status) {
		for i := range s.Jobs {
			s.Jobs[i].Sent = []node.EgressStatus{{Peer: "bank", Class: "masked", Bytes: 1234, Agreed: 9999}}
		}
	})
	until(t, ctx, `document.getElementById("outflow").textContent.includes("1234 B")`)
	do(t, ctx, chromedp.KeyEvent(" the audit"), chromedp.KeyEvent(kb.Enter),
		chromedp.WaitVisible(chromedp.CSS("#state .chip.refused")))
	want := []node.Decision{{Contract: approved, Yes: true, Person: "alice"},
		{Contract: refused, Reason: "not before the audit", Person: "alice"}}
	if got := d.decided(); !slices.Equal(got, want) {
		t.Errorf("decided: %+v, want %+v", got, want)
	}
}

// testLive: progress, a job that ends and a member that goes are on an open page without a reload, and the focus stays
// where it was.
func testLive(t *testing.T, chromium context.Context) {
	d := example(t)
	runs := d.contractOf(t, 1)
	ctx := tab(t, chromium, 1280, "light")
	enter(t, ctx, d)
	solving := func(done int64) {
		d.change(func(s *node.Status) {
			s.Jobs[1].Progress = &node.Progress{Step: "solving", Done: done, Total: 192, Percent: int(100 * done / 192)}
		})
	}
	solving(144)
	until(t, ctx, `document.getElementById("running").textContent.includes("75 %")`)
	reach(t, ctx, "j-"+runs.String()[:8])
	ask[chromedp.Void](t, ctx, "window.sameDocument = true; undefined")
	solving(192)
	until(t, ctx, `document.getElementById("running").textContent.includes("100 %")`)
	if got := ask[string](t, ctx, "document.activeElement.id"); got != "j-"+runs.String()[:8] {
		t.Errorf("the focus went to %q", got)
	}
	d.change(func(s *node.Status) { s.Jobs[1].State, s.Members[0].Connected = job.Done, false })
	until(t, ctx, `document.getElementById("past").textContent.includes("churn-2026")`)
	until(t, ctx, `document.querySelector("#tiles .figure").textContent === "1 of 3"`)
	d.change(func(*node.Status) { d.told = nil })
	until(t, ctx, `document.getElementById("told").textContent.startsWith("`+ledger.Nothing[:28]+`")`)
	if !ask[bool](t, ctx, "window.sameDocument") {
		t.Error("the page was loaded again")
	}
	d.page.End()
	until(t, ctx, `document.getElementById("live").dataset.state === "off"`)
}

// testHostile: names, reasons and texts of others are text, whatever stands in them.
func testHostile(t *testing.T, chromium context.Context) {
	const markup = `</title></script><script>window.taken = 1</script><img src=x onerror="window.taken = 2">` +
		`<form action="https://taker.example"><svg onload="window.taken = 3">`
	d := example(t)
	d.change(func(s *node.Status) {
		s.Charter.Name, s.Members[0].Name, s.Members[0].Trouble, s.Alerts[0].Text = markup, markup, markup, markup
		for i := range s.Jobs {
			j := &s.Jobs[i]
			j.Name, j.Proposer, j.Reason, j.Summary, j.Algorithm = markup, markup+"\u202eevil", markup, markup, markup
			j.Parties = []string{"telco", markup, "\u2066turned"}
		}
		d.told[0].Table, d.told[1].Name = markup, markup+"\u202eevil"
	})
	d.failure = errors.New(markup)
	ctx := tab(t, chromium, 360, "light")
	base := enter(t, ctx, d)
	for _, path := range []string{"", "job/" + d.contractOf(t, 0).String(), "job/" + d.contractOf(t, 2).String()} {
		do(t, ctx, chromedp.Navigate(base+path), live)
		d.change(func(s *node.Status) { s.Members[1].Name += "<b>" }) // so that the script brings it, too
		if path == "" {
			until(t, ctx, `document.getElementById("members").textContent.includes("<b>")`)
		}
		for expression, want := range map[string]bool{
			"window.taken === undefined":                                                                true,
			`document.body.textContent.includes("window.taken = 1")`:                                    true,
			`document.querySelectorAll("script").length === 1`:                                          true,
			`document.querySelector("[onerror], [onload], form[action^='https']") === null`:             true,
			`/[\u202a-\u202e\u2066-\u2069]/.test(document.body.textContent)`:                            false,
			"document.documentElement.scrollWidth > 360":                                                false,
			`[...document.images].every((i) => new URL(i.src).pathname === "/files/icon.svg")`:          true,
			`performance.getEntriesByType("resource").every((e) => e.name.startsWith(location.origin))`: true,
		} {
			if ask[bool](t, ctx, expression) != want {
				t.Errorf("page %q: %s is not %v", path, expression, want)
			}
		}
	}
	do(t, ctx, chromedp.Navigate(base+"job/"+d.contractOf(t, 0).String()), chromedp.Click(chromedp.CSS("#approve")),
		chromedp.WaitVisible(chromedp.CSS("section.critical")))
	if !ask[bool](t, ctx, `window.taken === undefined && document.body.textContent.includes("window.taken = 1")`) {
		t.Error("an error's text became part of the page")
	}
}

// neighbour is another server of this machine, of another user's, say: a page of its own in the owner's browser.
type neighbour struct {
	server *httptest.Server

	mu      sync.Mutex
	cookies []string // that browsers brought it
}

// serve has it show a page under any path.
func (n *neighbour) serve(t *testing.T, text string) {
	n.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.mu.Lock()
		n.cookies = append(n.cookies, r.Header.Get("Cookie"))
		n.mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, text)
	}))
	t.Cleanup(n.server.Close)
}

// testNeighbour: a page of another port of this machine, open in the same browser, gets no cookie, reads nothing and
// decides nothing, even when it knows the address of the session and the form's token; a name that its owner turned to
// this machine (DNS rebinding) is refused at the door.
func testNeighbour(t *testing.T, chromium context.Context) {
	d := example(t)
	target := d.contractOf(t, 0)
	ctx := tab(t, chromium, 1280, "light")
	base := enter(t, ctx, d)
	do(t, ctx, chromedp.Navigate(base+"job/"+target.String()), live)
	token := ask[string](t, ctx, `document.querySelector("input[name=form]").value`)

	var n neighbour
	n.serve(t, `<!DOCTYPE html><title>neighbour</title><form id="f" method="post" action="`+base+"job/"+target.String()+
		`/approve"><input name="form" value="`+token+`"></form><iframe id="i" src="`+base+`"></iframe>`)
	do(t, ctx, chromedp.Navigate(n.server.URL+"/p/"))
	for what, script := range map[string]string{
		"read the page": `fetch("` + base + `", {credentials: "include"}).then((r) => r.text())`,
		"decide":        `fetch("` + base + "job/" + target.String() + `/approve", {method: "POST", credentials: "include", body: new URLSearchParams({form: "` + token + `"})}).then((r) => r.text())`,
		"hear news":     `new Promise((yes, no) => { const s = new EventSource("` + base + `events", {withCredentials: true}); s.onmessage = yes; s.addEventListener("part", yes); s.onerror = no })`,
	} {
		failed, err := chromedp.Run(ctx, chromedp.Evaluate[bool](script+`.then(() => false, () => true)`,
			chromedp.EvalAwaitPromise))
		if err != nil || !failed {
			t.Errorf("a neighbour can %s (%v)", what, err)
		}
	}
	if ask[bool](t, ctx, `(() => { try { return !!document.getElementById("i").contentDocument.getElementById("tiles") } catch { return false } })()`) {
		t.Error("a neighbour shows the page in a frame")
	}
	do(t, ctx, chromedp.Evaluate[chromedp.Void](`document.getElementById("f").submit()`),
		chromedp.WaitVisible(chromedp.CSS(".threshold")))
	if !ask[bool](t, ctx, `document.body.textContent.includes("Another page tried to decide")`) {
		t.Error("the refusal does not say what happened")
	}
	if got := d.decided(); len(got) > 0 {
		t.Errorf("a neighbour decided: %+v", got)
	}
	n.mu.Lock()
	if got := strings.Join(n.cookies, ""); strings.Contains(got, cookieName) {
		t.Errorf("a neighbour got the cookie: %q", got)
	}
	n.mu.Unlock()

	_, port, _ := strings.Cut(d.host(), ":")
	do(t, ctx, chromedp.Navigate("http://rebound.example:"+port+strings.TrimPrefix(base, d.server.URL)))
	if !ask[bool](t, ctx, `document.body.textContent.includes("answers to 127.0.0.1, [::1] and localhost alone")`) {
		t.Error("a rebound name is let in")
	}
}

// TestBrowser runs what needs a browser, in one.
func TestBrowser(t *testing.T) {
	chromium := browser(t)
	t.Run("looks", func(t *testing.T) { testLooks(t, chromium, allLooks) })
	t.Run("keyboard", func(t *testing.T) { testKeyboard(t, chromium) })
	t.Run("live", func(t *testing.T) { testLive(t, chromium) })
	t.Run("hostile", func(t *testing.T) { testHostile(t, chromium) })
	t.Run("neighbour", func(t *testing.T) { testNeighbour(t, chromium) })
}
