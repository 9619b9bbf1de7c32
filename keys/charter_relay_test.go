package keys

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestCardOfARelay says that its member relays, and one that does not says nothing of it.
func TestCardOfARelay(t *testing.T) {
	k := keyNamed("bank")
	card := Card{Name: "bank", ID: k.ID(), Addresses: []string{"/ip4/203.0.113.7/tcp/4001"}, Relay: true}
	d, err := card.Sign(k)
	must(t, err)
	if text := string(d.Text()); !strings.Contains(text, "\nrelay = true\n") {
		t.Errorf("the card does not say that it relays:\n%s", text)
	}
	if got, err := ParseCard(d.Text()); err != nil || !reflect.DeepEqual(got, card) {
		t.Errorf("read again as %+v, %v", got, err)
	}
	card.Relay = false
	if d, err = card.Sign(k); err != nil || strings.Contains(string(d.Text()), "relay") {
		t.Errorf("a card that relays nothing speaks of it: %v\n%s", err, d.Text())
	}
	card.Addresses, card.Relay = nil, true
	_, err = card.Sign(k)
	wantError(t, err, "card: bank: it relays and has no address: a relay is a member that others can dial")
}

// TestCharterWithRelays keeps who relays and within which limits, and says what changes of that.
func TestCharterWithRelays(t *testing.T) {
	plain := mustCharter(t, threeMembers(), "bank", "insurer", "telco")
	draft := plain.Next()
	draft.Created = noon
	draft.Members[0].Relay = true
	draft.Relay = RelayLimits{Minutes: 60, Circuits: 4}
	s := mustCharter(t, draft, "bank", "insurer", "telco")
	again, err := ParseCharter(s.Text())
	must(t, err)
	if !reflect.DeepEqual(again.Charter, s.Charter) {
		t.Errorf("read again as %+v, want %+v", again.Charter, s.Charter)
	}
	if relays := again.Relays(); len(relays) != 1 || relays[0].Name != "bank" {
		t.Errorf("relays: %+v", relays)
	}
	want := []string{"relays: bank: false -> true", "limits of relays: none -> minutes 60, circuits 4"}
	if got := Diff(plain, again); !slices.Equal(got, want) {
		t.Errorf("changes %q, want %q", got, want)
	}
	draft.Relay.MiB = -1
	_, err = NewCharter(draft)
	wantError(t, err, `charter "credit": relay: mib is -1, want 0 to 1073741824; 0 is no limit`)
}
