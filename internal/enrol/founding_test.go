package enrol

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/fault"
)

// founded is a first version that bank carries, and everybody's key.
type founded struct {
	*Founding
	keys    map[string]*keys.PrivateKey
	charter *keys.SignedCharter // as bank has signed it
	stored  *keys.SignedCharter
}

// newFounded makes a charter of four, and the key of mallory, whom it does not name.
func newFounded(t *testing.T) *founded {
	t.Helper()
	f := &founded{keys: make(map[string]*keys.PrivateKey)}
	draft := keys.Charter{Name: "credit", Version: 1, Created: time.Unix(1e9, 0)}
	for _, name := range []string{"bank", "insurer", "telco", "retailer", "mallory"} {
		f.keys[name] = must(keys.GenerateKey())(t)
		if name != "mallory" {
			draft.Admit(keys.Card{Name: name, ID: f.keys[name].ID(), Addresses: []string{"/dns4/" + name + ".example/tcp/4001"}})
		}
	}
	f.charter = must(keys.NewCharter(draft))(t)
	mustDo(t, f.charter.Sign(f.keys["bank"]))
	f.Founding = must(NewFounding(f.keys["bank"], f.charter, func(c *keys.SignedCharter) error {
		f.stored = c
		return nil
	}, slog.New(slog.DiscardHandler)))(t)
	return f
}

// line is a caller's connection to a maker.
type line struct {
	f    *founded
	from keys.ID
	peer keys.ID // who answers
	// change is what somebody in between, or the maker itself, makes of an offer; may be nil
	change func(*offerReply)
}

func (l line) Peer() keys.ID { return l.peer }
func (l line) Close() error  { return nil }
func (l line) Call(ctx context.Context, method string, request []byte) ([]byte, error) {
	answer, told := l.f.Handle(ctx, l.from, method, request)
	if told != nil {
		return nil, &protocol.RemoteError{Fault: told}
	}
	if method == methodJoinFetch && l.change != nil {
		var reply offerReply
		if err := cbor.Unmarshal(answer, &reply); err != nil {
			return nil, err
		}
		l.change(&reply)
		return cbor.Marshal(reply)
	}
	return answer, nil
}

// dial is the connection of a name.
func (f *founded) dial(name string) line {
	return line{f: f, from: f.keys[name].ID(), peer: f.keys["bank"].ID()}
}

// wantCode wants a call to be refused with a code, and nothing to be stored.
func (f *founded) wantCode(t *testing.T, code fault.Code, from, method string, request any) {
	t.Helper()
	before := slices.Clone(f.Missing())
	_, told := f.Handle(t.Context(), f.keys[from].ID(), method, must(cbor.Marshal(request))(t))
	if told == nil || told.Code != code {
		t.Errorf("%s of %s is answered with %v, want %s", method, from, told, code)
	}
	if !slices.Equal(f.Missing(), before) {
		t.Errorf("%s of %s changed who has signed: missing %v, before %v", method, from, f.Missing(), before)
	}
}

// TestFounding: a first version that is carried round by its maker is, byte for byte, the one that is signed as a file.
func TestFounding(t *testing.T) {
	f := newFounded(t)
	names := []string{"insurer", "telco", "retailer"}
	for i, name := range names {
		n := Newcomer{Key: f.keys[name], Inviter: f.keys["bank"].ID()}
		o := must(n.Fetch(t.Context(), f.dial(name)))(t)
		if o.InForce() || o.Parent != nil || o.Inviter.Name != "bank" || !o.Proposal.SignedBy(f.keys["bank"].ID()) {
			t.Fatalf("the offer to %s is %+v", name, o)
		}
		mustDo(t, n.Sign(t.Context(), f.dial(name), o))
		if got := f.Missing(); !slices.Equal(got, names[i+1:]) {
			t.Errorf("missing are %v, want %v", got, names[i+1:])
		}
	}
	byFiles := snapshot(f.charter)
	for _, name := range names {
		mustDo(t, byFiles.Sign(f.keys[name]))
	}
	for _, name := range names {
		select {
		case <-f.Done():
			t.Fatal("the maker is done before all have the charter")
		default:
		}
		n := Newcomer{Key: f.keys[name], Inviter: f.keys["bank"].ID()}
		o := must(n.Fetch(t.Context(), f.dial(name)))(t)
		if !o.InForce() || !bytes.Equal(o.Proposal.Text(), byFiles.Text()) {
			t.Errorf("%s has\n%s\nwant\n%s", name, o.Proposal.Text(), byFiles.Text())
		}
		for range 2 { // said twice it is the same
			mustDo(t, n.Kept(t.Context(), f.dial(name)))
		}
	}
	<-f.Done()
	if !bytes.Equal(f.stored.Text(), byFiles.Text()) {
		t.Errorf("the maker keeps\n%s", f.stored.Text())
	}
}

// TestFoundingAmongStrangers: strangers get nothing from a maker, and members can sign for nobody but themselves and
// nothing but what is proposed.
func TestFoundingAmongStrangers(t *testing.T) {
	f := newFounded(t)
	hash := f.charter.Digest().String()
	sign := func(name string, domain string, body []byte) []byte { return f.keys[name].Sign(domain, body) }
	good := sign("insurer", f.charter.Domain, f.charter.Body)
	for _, method := range []string{methodJoinFetch, methodJoinSign, methodJoinCharter, methodJoinKept, methodPropose} {
		f.wantCode(t, fault.CodeInvitation, "mallory", method, nothing{})
		f.wantCode(t, fault.CodeInvitation, "bank", method, nothing{}) // another with the maker's key
	}
	if f.Invited(f.keys["mallory"].ID()) || f.Invited(f.keys["bank"].ID()) || !f.Invited(f.keys["telco"].ID()) {
		t.Error("others are let in than the members that it waits for")
	}
	other := must(keys.NewCharter(keys.Charter{Name: "other", Version: 1, Created: time.Unix(1e9, 0),
		Members: f.charter.Members}))(t)
	f.wantCode(t, fault.CodeOutdated, "insurer", methodJoinSign, signRequest{other.Digest().String(), good})
	f.wantCode(t, fault.CodeOutdated, "insurer", methodJoinCharter, charterRequest{other.Digest().String()})
	f.wantCode(t, fault.CodeSignature, "insurer", methodJoinSign, signRequest{hash, nil})
	f.wantCode(t, fault.CodeSignature, "insurer", methodJoinSign, signRequest{hash, sign("telco", f.charter.Domain,
		f.charter.Body)})
	f.wantCode(t, fault.CodeSignature, "insurer", methodJoinSign, signRequest{hash, sign("insurer", "hanse contract v1",
		f.charter.Body)})
	f.wantCode(t, fault.CodeSignature, "insurer", methodJoinSign, signRequest{hash, sign("insurer", other.Domain,
		other.Body)})
	f.wantCode(t, fault.CodeOutdated, "insurer", methodJoinKept, nothing{}) // it cannot have it yet
	f.wantCode(t, fault.CodeMethod, "insurer", methodPropose, textMessage{string(f.charter.Text())})
	f.wantCode(t, fault.CodeRequest, "insurer", methodJoinSign, "no request")
	if f.stored != nil {
		t.Error("something was stored")
	}
}

// TestAMakerThatCheats: what a newcomer signs is a first version that names it as its card does, and that who answers
// has signed; a maker that hands out anything else, or somebody in between, gets no signature.
func TestAMakerThatCheats(t *testing.T) {
	f := newFounded(t)
	draft := f.charter.Charter
	draft.Members = slices.Clone(draft.Members)
	draft.Members[1].Addresses = []string{"/dns4/mallory.example/tcp/4001"}
	moved := must(keys.NewCharter(draft))(t)
	unsigned := must(keys.NewCharter(f.charter.Charter))(t)
	mustDo(t, moved.Sign(f.keys["bank"]))
	card := keys.Card(f.charter.Members[1])
	for want, c := range map[string]struct {
		line   line
		change func(*offerReply)
	}{
		"answers instead of the inviter": {line: line{f: f, from: card.ID, peer: f.keys["telco"].ID()}},
		"its card says: insurer at":      {change: func(r *offerReply) { r.Proposal = string(moved.Text()) }},
		"has not signed it":              {change: func(r *offerReply) { r.Proposal = string(unsigned.Text()) }},
		"the charter in force":           {change: func(r *offerReply) { r.Parent = "none" }},
		"follow":                         {change: func(r *offerReply) { r.Parent = string(must(f.Alone())(t).Text()) }},
		"invitation":                     {change: func(r *offerReply) { r.Invitation = "" }},
		"key":                            {change: func(r *offerReply) { r.Proposal = string(must(f.Alone())(t).Text()) }},
	} {
		l := f.dial("insurer")
		if c.line.f != nil {
			l = c.line
		}
		l.change = c.change
		n := Newcomer{Key: f.keys["insurer"], Card: &card, Inviter: f.keys["bank"].ID()}
		if _, err := n.Fetch(t.Context(), l); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
}
