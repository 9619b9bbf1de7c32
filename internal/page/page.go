// Package page shows one member's node in a browser: who is here, what runs and how far it is, what has left this
// machine against what was agreed, and what waits for its owner, who approves or refuses it there.
//
//	state.go     what the page is given: State, and functions that decide
//	page.go      addresses, and who may see what is behind them
//	door.go      one-time links, sessions, cookies and form tokens
//	events.go    the stream by which an open page stays true
//	view.go      from State to what templates say; draw.go, its drawings; fold.go, a terminal's text on any screen
//	files/       templates, style, and the one script, which puts into the page what the stream brings
//
// The package knows HTTP and no listener: its owner serves Handler on a loopback address or a socket. Whatever other
// members say is hostile text: html/template escapes all of it, and nothing that does not print reaches the page.
// Whoever can open a port on this machine, or lure the owner's browser to a page of his own, learns and changes
// nothing: see door.go for what is asked of a request.
package page

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"strings"
	"time"
	"unicode"

	figurepage "github.com/hanse-project/hanse/internal/figures/page"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/wording"
)

//go:embed files
var files embed.FS

// maxForm is the longest form, in bytes.
const maxForm = 8 << 10

// policy is what a browser lets the page do: its own style, script, pictures and stream, and forms to itself.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Page is the page of one node. It is safe for concurrent use.
type Page struct {
	config    Config
	door      *door
	templates *template.Template
	watchers  *watchers
	mux       *http.ServeMux
}

// New returns the page of a node.
func New(c Config) (*Page, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	words := template.FuncMap{"size": wording.Size, "when": when}
	templates, err := template.New("").Funcs(words).ParseFS(files, "files/*.html")
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	p := &Page{config: c, door: newDoor(c.Now), templates: templates, watchers: newWatchers(c), mux: http.NewServeMux()}
	p.mux.HandleFunc("GET /enter/{token}", p.threshold)
	p.mux.HandleFunc("POST /enter/{token}", p.enter)
	p.mux.HandleFunc("GET /files/{name}", p.file)
	p.mux.HandleFunc("GET /p/{session}/{$}", p.inside(p.overview))
	p.mux.HandleFunc("GET /p/{session}/job/{contract}", p.inside(p.job))
	p.mux.HandleFunc("GET /p/{session}/events", p.inside(p.events))
	p.mux.HandleFunc("GET /p/{session}/events/{contract}", p.inside(p.events))
	p.mux.HandleFunc("POST /p/{session}/job/{contract}/{decision}", p.inside(p.decide))
	p.mux.HandleFunc("POST /p/{session}/leave", p.inside(p.leave))
	p.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { p.closed(w, http.StatusNotFound, "") })
	return p, nil
}

// Link returns a link to the page for one browser and some minutes; host is what stands behind http:// and person is in
// whose name its user decides.
func (p *Page) Link(host, person string) string {
	return "http://" + host + "/enter/" + p.door.invite(person)
}

// End ends all sessions, and makes links that were given out worthless.
func (p *Page) End() { p.door.clear() }

// Handler answers browsers.
func (p *Page) Handler() http.Handler {
	crossing := http.NewCrossOriginProtection()
	crossing.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p.closed(w, http.StatusForbidden, "Another page tried to decide here in your name. It was refused.")
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer") // the address has the session in it
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !isLocal(r.Host) {
			http.Error(w, "this node's page answers to 127.0.0.1, [::1] and localhost alone", http.StatusMisdirectedRequest)
			return
		}
		crossing.Handler(p.mux).ServeHTTP(w, r)
	})
}

// inside lets a request through that comes from a page of its session.
func (p *Page) inside(next func(w http.ResponseWriter, r *http.Request, s *session)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s, ok := p.door.session(r)
		if !ok {
			p.closed(w, http.StatusForbidden, "")
			return
		}
		next(w, r, s)
	}
}

// threshold is what a link shows: a button that opens the page. Only looking at it uses nothing up, since chat programs
// and mail filters fetch links to preview or check them before their reader does.
func (p *Page) threshold(w http.ResponseWriter, r *http.Request) {
	if !p.door.isInvited(r.PathValue("token")) {
		p.closed(w, http.StatusForbidden, usedLink)
		return
	}
	p.write(w, http.StatusOK, "enter.html", nil)
}

// enter turns a link into a session when its button is pressed.
func (p *Page) enter(w http.ResponseWriter, r *http.Request) {
	s, ok := p.door.admit(r.PathValue("token"))
	if !ok {
		p.closed(w, http.StatusForbidden, usedLink)
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: s.secret, Path: s.path(), HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Expires: s.ends,
	})
	http.Redirect(w, r, s.path(), http.StatusSeeOther)
}

// usedLink is what a link says that opens nothing.
const usedLink = "This link has been used, or is too old."

// closed is what stands before a door that stays shut.
func (p *Page) closed(w http.ResponseWriter, status int, why string) {
	p.write(w, status, "closed.html", map[string]any{"Why": why, "Missing": status == http.StatusNotFound})
}

// file serves the style, the script and the picture, which say nothing of the node.
func (p *Page) file(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	data, err := fs.ReadFile(files, "files/"+name)
	if err != nil || strings.HasSuffix(name, ".html") {
		p.closed(w, http.StatusNotFound, "")
		return
	}
	if name == "page.css" {
		data = append([]byte(figurepage.Style), data...)
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
}

// overview is the first page.
func (p *Page) overview(w http.ResponseWriter, _ *http.Request, s *session) {
	p.write(w, http.StatusOK, "overview.html", p.frame(s, nil))
}

// job is the page of one job.
func (p *Page) job(w http.ResponseWriter, r *http.Request, s *session) {
	f := p.frame(s, new(r.PathValue("contract")))
	if f.Job == nil {
		p.closed(w, http.StatusNotFound, "This node has no such job any more.")
		return
	}
	p.write(w, http.StatusOK, "job.html", f)
}

// decide takes the owner's word on a proposal: on the contract that the page has shown, and no other.
func (p *Page) decide(w http.ResponseWriter, r *http.Request, s *session) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if !s.isForm(r.PostFormValue("form")) {
		p.closed(w, http.StatusForbidden, "This form is of an older page. Nothing was decided: load the page anew.")
		return
	}
	d := node.Decision{Yes: r.PathValue("decision") == "approve", Person: s.person}
	if !d.Yes && r.PathValue("decision") != "refuse" || d.Contract.UnmarshalText([]byte(r.PathValue("contract"))) != nil {
		p.closed(w, http.StatusNotFound, "")
		return
	}
	if !d.Yes {
		d.Reason = wording.Line(r.PostFormValue("reason"), maxForm)
	}
	_, err := p.config.Decide(d)
	p.watchers.forget()
	if err != nil {
		f := p.frame(s, new(d.Contract.String()))
		f.Failure = err.Error()
		p.write(w, http.StatusConflict, "failure.html", f)
		return
	}
	http.Redirect(w, r, s.path()+"job/"+d.Contract.String(), http.StatusSeeOther)
}

// leave ends a session.
func (p *Page) leave(w http.ResponseWriter, r *http.Request, s *session) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if !s.isForm(r.PostFormValue("form")) {
		p.closed(w, http.StatusForbidden, "This form is of an older page: load the page anew.")
		return
	}
	p.door.end(s)
	p.closed(w, http.StatusOK, "You have left this page.")
}

// write renders a template, or says that it cannot.
func (p *Page) write(w http.ResponseWriter, status int, name string, data any) {
	text, err := p.render(name, data)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	w.Write(text)
}

// render returns a template's text. Nothing in it but line breaks does not print, whoever wrote it: a name cannot turn
// the reading direction of the line that it stands in.
func (p *Page) render(name string, data any) ([]byte, error) {
	var out bytes.Buffer
	if err := p.templates.ExecuteTemplate(&out, name, data); err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	return bytes.Map(func(c rune) rune {
		if c != '\n' && !unicode.IsPrint(c) {
			return unicode.ReplacementChar
		}
		return c
	}, out.Bytes()), nil
}
