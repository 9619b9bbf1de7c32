package page

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/node"
)

// pass moves the page's clock on.
func (d *desk) pass(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = d.now.Add(by)
}

// TestLinks: a link opens one session once, in time; a session ends by its time, by leaving, and with the page.
func TestLinks(t *testing.T) {
	d := example(t)
	link := d.page.Link(d.host(), "alice")
	client, _ := d.visit(t, "alice") // whose jar is of no use for another link
	press(t, client, link)
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if code, text := d.open(t, method, link); code != http.StatusForbidden || strings.Contains(text, "/p/") {
			t.Errorf("a link opens twice: %s answers %d", method, code)
		}
	}
	old := d.page.Link(d.host(), "alice")
	d.pass(linkLife)
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if code, _ := d.open(t, method, old); code != http.StatusForbidden {
			t.Errorf("a link opens after its time: %s answers %d", method, code)
		}
	}
	ends := map[string]func(client *http.Client, base string){
		"its time": func(*http.Client, string) { d.pass(sessionLife) },
		"the page": func(*http.Client, string) { d.page.End() },
		"leaving": func(client *http.Client, base string) {
			_, text := get(t, client, base)
			if code, _ := post(t, client, base+"leave", "", url.Values{"form": {formToken(t, text)}}); code != http.StatusOK {
				t.Errorf("leaving answers %d", code)
			}
		},
	}
	for what, end := range ends {
		client, base := d.visit(t, "alice")
		if code, _ := get(t, client, base); code != http.StatusOK {
			t.Fatalf("a session answers %d", code)
		}
		end(client, base)
		if code, text := get(t, client, base); code != http.StatusForbidden || strings.Contains(text, d.status.Charter.Name) {
			t.Errorf("a session goes on after %s: %d", what, code)
		}
	}
	first, base := d.visit(t, "alice")
	for range maxSessions {
		d.visit(t, "alice")
	}
	if code, _ := get(t, first, base); code != http.StatusForbidden {
		t.Errorf("%d browsers are in at a time", maxSessions+1)
	}
}

// open asks for a link without a browser's memory, and returns the status and the text.
func (d *desk) open(t *testing.T, method, link string) (int, string) {
	t.Helper()
	request, err := http.NewRequest(method, link, nil)
	must(t, err)
	response, err := http.DefaultTransport.RoundTrip(request)
	must(t, err)
	return response.StatusCode, body(t, response)
}

// previewer is a chat program, a mail filter or a browser that fetches what a link shows before its reader does.
type previewer struct {
	method  string
	headers map[string]string
}

// TestPreviewers: whatever fetches a link, before or beside the person whom it is for, gets no session and no cookie
// and learns nothing of the node, and the person still comes in; what presses the button from another page does not.
func TestPreviewers(t *testing.T) {
	d := example(t)
	link := d.page.Link(d.host(), "alice")
	for _, p := range []previewer{
		{http.MethodGet, nil},
		{http.MethodHead, nil},
		{http.MethodGet, map[string]string{"Sec-Purpose": "prefetch;prerender", "Sec-Fetch-Site": "none"}},
		{http.MethodGet, map[string]string{"User-Agent": "chatbot-LinkExpanding 1.0", "Range": "bytes=0-32768"}},
		{http.MethodOptions, nil},
		{http.MethodPost, map[string]string{"Origin": "http://127.0.0.1:1"}},
		{http.MethodPost, map[string]string{"Sec-Fetch-Site": "cross-site"}},
	} {
		request, err := http.NewRequest(p.method, link, nil)
		must(t, err)
		for name, value := range p.headers {
			request.Header.Set(name, value)
		}
		response, err := http.DefaultTransport.RoundTrip(request)
		must(t, err)
		text := body(t, response)
		if len(response.Cookies()) > 0 || response.Header.Get("Location") != "" || strings.Contains(text, "/p/") ||
			strings.Contains(text, d.status.Charter.Name) || strings.Contains(text, d.status.Member) {
			t.Errorf("%s %v comes in: %s", p.method, p.headers, text)
		}
	}
	client, _ := d.visit(t, "bob")
	base := press(t, client, link)
	if code, text := get(t, client, base); code != http.StatusOK || !strings.Contains(text, d.status.Charter.Name) {
		t.Errorf("after them the link's person is answered %d", code)
	}
}

// stranger is a program of this machine that is not the owner's browser: it knows what it can know, and asks.
type stranger struct {
	name   string
	change func(r *http.Request)
	code   int
}

// TestStrangers: no request without session, cookie, local host and a page of ours behind it comes in, to read, to
// listen or to decide.
func TestStrangers(t *testing.T) {
	d := example(t)
	client, base := d.visit(t, "alice")
	_, text := get(t, client, base)
	other, otherBase := d.visit(t, "bob")
	_, otherText := get(t, other, otherBase)
	decision := base + "job/" + d.contractOf(t, 0).String() + "/approve"
	form := url.Values{"form": {formToken(t, text)}}.Encode()
	cookies := func(r *http.Request) {
		for _, c := range client.Jar.Cookies(r.URL) {
			r.AddCookie(c)
		}
	}
	all := []stranger{
		{"without a cookie", func(*http.Request) {}, http.StatusForbidden},
		{"with a cookie of its own making", func(r *http.Request) {
			r.AddCookie(&http.Cookie{Name: cookieName, Value: strings.Repeat("A", 26)})
		}, http.StatusForbidden},
		{"with another session's cookie", func(r *http.Request) {
			at, _ := url.Parse(otherBase)
			for _, c := range other.Jar.Cookies(at) {
				r.AddCookie(c)
			}
		}, http.StatusForbidden},
		{"in another session's name", func(r *http.Request) {
			cookies(r)
			at, _ := url.Parse(otherBase)
			r.URL.Path = strings.Replace(r.URL.Path, strings.Split(r.URL.Path, "/")[2], strings.Split(at.Path, "/")[2], 1)
		}, http.StatusForbidden},
		{"by a name that was turned to this machine", func(r *http.Request) {
			cookies(r)
			r.Host = "rebound.example"
		}, http.StatusMisdirectedRequest},
		{"by a name that begins as this machine's", func(r *http.Request) {
			cookies(r)
			r.Host = "127.0.0.1.rebound.example:80"
		}, http.StatusMisdirectedRequest},
		{"from another site", func(r *http.Request) {
			cookies(r)
			r.Header.Set("Sec-Fetch-Site", "cross-site")
		}, http.StatusForbidden},
		{"from another port of this machine", func(r *http.Request) {
			cookies(r)
			r.Header.Set("Sec-Fetch-Site", "same-site")
		}, http.StatusForbidden},
	}
	deciding := append(all[:len(all):len(all)],
		stranger{"with another origin", func(r *http.Request) {
			cookies(r)
			r.Header.Set("Origin", "http://127.0.0.1:1")
		}, http.StatusForbidden},
		stranger{"with no origin", func(r *http.Request) {
			cookies(r)
			r.Header.Set("Origin", "null")
		}, http.StatusForbidden},
		stranger{"without the form's token", func(r *http.Request) {
			cookies(r)
			r.Body = io.NopCloser(strings.NewReader("form="))
			r.ContentLength = 5
		}, http.StatusForbidden},
		stranger{"with the token of another session's form", func(r *http.Request) {
			cookies(r)
			text := url.Values{"form": {formToken(t, otherText)}}.Encode()
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
		}, http.StatusForbidden},
		stranger{"with a form without end", func(r *http.Request) {
			cookies(r)
			text := "x=" + strings.Repeat("x", maxForm) + "&" + form
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
		}, http.StatusForbidden},
	)
	ask := func(method, address string, who stranger) {
		request, err := http.NewRequest(method, address, strings.NewReader(map[string]string{http.MethodPost: form}[method]))
		must(t, err)
		if method == http.MethodPost {
			request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		who.change(request)
		response, err := http.DefaultTransport.RoundTrip(request)
		must(t, err)
		if response.StatusCode != who.code {
			t.Errorf("%s %s, %s: %d, want %d", method, address, who.name, response.StatusCode, who.code)
			response.Body.Close() // which may be a stream without an end
			return
		}
		if text := body(t, response); strings.Contains(text, d.status.Charter.Name) || strings.Contains(text, "phones") {
			t.Errorf("%s %s, %s: the answer says something of the node", method, address, who.name)
		}
	}
	for _, who := range all {
		for _, path := range []string{"", "events", "job/" + d.contractOf(t, 0).String()} {
			ask(http.MethodGet, base+path, who)
		}
	}
	for _, who := range deciding {
		ask(http.MethodPost, decision, who)
	}
	if got := d.decided(); len(got) > 0 {
		t.Fatalf("a stranger decided: %+v", got)
	}
	own := url.Values{"form": {formToken(t, text)}}
	if code, _ := post(t, client, decision, d.server.URL, own); code != http.StatusOK {
		t.Errorf("the owner's own decision answers %d", code)
	}
	if got := d.decided(); len(got) != 1 || got[0].Person != "alice" || !got[0].Yes {
		t.Errorf("the owner decided %+v", got)
	}
}

// TestDecisions: a refusal needs a reason and passes it on, and what the node refuses is said in its words.
func TestDecisions(t *testing.T) {
	d := example(t)
	h := d.contractOf(t, 0)
	client, base := d.visit(t, "alice")
	_, text := get(t, client, base+"job/"+h.String())
	form := url.Values{"form": {formToken(t, text)}, "reason": {" \n "}}
	if code, text := post(t, client, base+"job/"+h.String()+"/refuse", "", form); code != http.StatusConflict ||
		!strings.Contains(text, "the reason is empty") {
		t.Errorf("a refusal without a reason answers %d", code)
	}
	if code, _ := post(t, client, base+"job/"+h.String()+"/consider", "", form); code != http.StatusNotFound {
		t.Errorf("another word than approve and refuse answers %d", code)
	}
	if code, _ := post(t, client, base+"job/none/approve", "", form); code != http.StatusNotFound {
		t.Errorf("no contract's digest answers %d", code)
	}
	d.failure = errors.New("job credit is cancelled, not waiting for consent")
	if code, text := post(t, client, base+"job/"+h.String()+"/approve", "", form); code != http.StatusConflict ||
		!strings.Contains(text, d.failure.Error()) {
		t.Errorf("a decision that the node refuses answers %d", code)
	}
	d.failure = nil
	form.Set("reason", "not\u202e before\nthe audit")
	post(t, client, base+"job/"+h.String()+"/refuse", "", form)
	want := node.Decision{Contract: h, Reason: "not  before the audit", Person: "alice"}
	if got := d.decided(); len(got) != 1 || got[0] != want {
		t.Errorf("decided %+v, want %+v", got, want)
	}
}

// TestHeaders: whatever is asked, the answer says what a browser may do with it.
func TestHeaders(t *testing.T) {
	d := example(t)
	client, base := d.visit(t, "alice")
	for _, address := range []string{base, d.server.URL + "/files/page.css", d.server.URL + "/none",
		d.server.URL + "/p/x/"} {
		response, err := client.Get(address)
		must(t, err)
		body(t, response)
		for name, want := range map[string]string{"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff",
			"Referrer-Policy": "no-referrer", "Cache-Control": "no-store"} {
			if got := response.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", address, name, got, want)
			}
		}
	}
	for _, word := range []string{"unsafe", "*", "http:", "data:"} {
		if strings.Contains(policy, word) || !strings.HasPrefix(policy, "default-src 'none'") {
			t.Errorf("the policy lets in %q", word)
		}
	}
	request, err := http.NewRequest(http.MethodPost, d.page.Link(d.host(), "alice"), nil)
	must(t, err)
	response, err := http.DefaultTransport.RoundTrip(request)
	must(t, err)
	body(t, response)
	if c := response.Cookies(); len(c) != 1 || !c[0].HttpOnly || c[0].SameSite != http.SameSiteStrictMode ||
		!strings.HasPrefix(c[0].Path, "/p/") || c[0].Domain != "" {
		t.Errorf("the cookie is %+v", c)
	}
}

// TestHosts: who is this machine.
func TestHosts(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1": true, "127.0.0.1:8085": true, "localhost": true, "localhost:1": true, "[::1]:8085": true,
		"[::1]": true, "127.8.9.1": true, "": false, "0.0.0.0:80": false, "10.0.0.1": false,
		"localhost.rebound.example": false, "localhost.": false, "rebound.example:8085": false,
		"127.0.0.1.rebound.example": false, "[::ffff:10.0.0.1]": false, "2130706433": false, "[fe80::1%25lo]": false,
	} {
		if got := isLocal(host); got != want {
			t.Errorf("%q is local: %v", host, got)
		}
	}
}
