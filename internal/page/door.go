package page

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// What is asked of a request, and against whom:
//
//   - its Host is this machine's loopback: a name of an attacker's that turns to 127.0.0.1 (DNS rebinding) is refused;
//   - a link opens one session, once, within some minutes: who finds it later in a history has nothing. It opens when a
//     person presses the button that it shows: what fetches links by itself uses none up;
//   - a session is in the address and, by another secret, in a cookie. The cookie is for that address alone: browsers
//     send cookies of 127.0.0.1 to every port, so that a server of another user of this machine would see it otherwise;
//   - the cookie goes along with requests of our own pages alone (SameSite), and what the browser says of where a
//     request comes from must agree (Sec-Fetch-Site, Origin);
//   - a form has a token of its session.
//
// Secrets are compared in constant time.

const (
	cookieName   = "hanse"
	linkLife     = 10 * time.Minute
	sessionLife  = 12 * time.Hour
	maxInvited   = 16 // links that wait to be opened; the oldest is forgotten
	maxSessions  = 16 // browsers at a time; the oldest is shown the door
	loopbackName = "localhost"
)

// isLocal reports whether a request's Host is this machine as itself, at any port: a tunnel may change it.
func isLocal(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	if name == loopbackName {
		return true
	}
	if len(name) > 2 && name[0] == '[' && name[len(name)-1] == ']' {
		name = name[1 : len(name)-1]
	}
	at, err := netip.ParseAddr(name)
	return err == nil && at.IsLoopback()
}

// invitation is a link that has not been opened.
type invitation struct {
	token, person string
	ends          time.Time
}

// session is one browser that came by a link.
type session struct {
	id     string // in its addresses
	secret string // in its cookie
	form   string // in its forms
	person string // in whose name it decides
	ends   time.Time
	ended  chan struct{} // closed when it ends before its time
}

// path is where the pages of a session begin.
func (s *session) path() string { return "/p/" + s.id + "/" }

// isForm reports whether a form is of this session.
func (s *session) isForm(token string) bool { return same(s.form, token) }

// same compares secrets without telling by its time where they differ.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// door knows who may come in.
type door struct {
	now func() time.Time

	mu       sync.Mutex
	invited  []invitation
	sessions []*session
}

// newDoor returns a door that nobody has a link for.
func newDoor(now func() time.Time) *door { return &door{now: now} }

// invite makes a link's token.
func (d *door) invite(person string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sweep()
	if len(d.invited) >= maxInvited {
		d.invited = slices.Delete(d.invited, 0, 1)
	}
	token := rand.Text()
	d.invited = append(d.invited, invitation{token, person, d.now().Add(linkLife)})
	return token
}

// find returns where the invitation with a token is, or -1. The lock is held.
func (d *door) find(token string) int {
	d.sweep()
	at := -1
	for i, v := range d.invited {
		if same(v.token, token) {
			at = i
		}
	}
	return at
}

// isInvited reports whether a token would be admitted now.
func (d *door) isInvited(token string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.find(token) >= 0
}

// admit turns a token into a session, once.
func (d *door) admit(token string) (*session, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.find(token)
	if at < 0 {
		return nil, false
	}
	s := &session{id: rand.Text(), secret: rand.Text(), form: rand.Text(), person: d.invited[at].person,
		ends: d.now().Add(sessionLife), ended: make(chan struct{})}
	d.invited = slices.Delete(d.invited, at, at+1)
	if len(d.sessions) >= maxSessions {
		close(d.sessions[0].ended)
		d.sessions = slices.Delete(d.sessions, 0, 1)
	}
	d.sessions = append(d.sessions, s)
	return s, true
}

// session returns that of a request, if it comes from a page of ours: browsers say so, and what says nothing is no
// browser, or an old one.
func (d *door) session(r *http.Request) (*session, bool) {
	if from := r.Header.Get("Sec-Fetch-Site"); from != "" && from != "same-origin" && from != "none" {
		return nil, false
	}
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return nil, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sweep()
	var found *session
	for _, s := range d.sessions {
		if same(s.id, r.PathValue("session")) && same(s.secret, cookie.Value) {
			found = s
		}
	}
	return found, found != nil
}

// end ends a session.
func (d *door) end(gone *session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sessions = slices.DeleteFunc(d.sessions, func(s *session) bool {
		if s == gone {
			close(s.ended)
		}
		return s == gone
	})
}

// clear ends all sessions and forgets all links.
func (d *door) clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.sessions {
		close(s.ended)
	}
	d.sessions, d.invited = nil, nil
}

// sweep drops what is over its time. The lock is held.
func (d *door) sweep() {
	now := d.now()
	d.invited = slices.DeleteFunc(d.invited, func(v invitation) bool { return !now.Before(v.ends) })
	d.sessions = slices.DeleteFunc(d.sessions, func(s *session) bool {
		if over := !now.Before(s.ends); over {
			close(s.ended)
			return true
		}
		return false
	})
}
