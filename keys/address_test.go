package keys

import (
	"strings"
	"testing"

	"github.com/hanse-project/hanse/internal/wording"
)

func TestCheckAddressAccepts(t *testing.T) {
	for _, s := range []string{
		"/ip4/10.0.0.7/tcp/4001",
		"/ip4/127.0.0.1/tcp/1",
		"/ip4/10.0.0.7/udp/65535/quic-v1",
		"/ip6/2001:db8::7/tcp/4001",
		"/ip6/fe80::1/udp/4001/quic-v1",
		"/dns/bank.example/tcp/4001",
		"/dns4/bank.example/tcp/4001",
		"/dns6/node-7.bank.example/udp/4001/quic-v1",
		"/dns/localhost/tcp/4001",
	} {
		if err := CheckAddress(s); err != nil {
			t.Error(err)
		}
	}
}

func TestCheckAddressErrors(t *testing.T) {
	for _, c := range []struct{ in, why string }{
		{"", addressShape},
		{"10.0.0.7:4001", addressShape},
		{"ip4/10.0.0.7/tcp/4001", addressShape},
		{"x/ip4/10.0.0.7/tcp", addressShape},
		{"/ip4/10.0.0.7/tcp/4001/", addressShape},
		{"/ip4/10.0.0.7/tcp/4001/ws", addressShape},
		{"/ip4/10.0.0.7/udp/4001", addressShape},
		{"/ip4/10.0.0.7/udp/4001/quic", addressShape},
		{"/ip4/10.0.0.7/tcp/4001/quic-v1", addressShape},
		{"/onion3/abc/tcp/4001", addressShape},
		{"/ip4/10.0.0.7/tcp/4001/p2p/12D3KooW", "leave out /p2p/ and what follows, the member's id stands beside it"},
		{"/ip4/10.0.0/tcp/4001", `"10.0.0" is not an ip4 address`},
		{"/ip4/010.0.0.7/tcp/4001", `"010.0.0.7" is not an ip4 address`},
		{"/ip4/::1/tcp/4001", `"::1" is not an ip4 address`},
		{"/ip6/10.0.0.7/tcp/4001", `"10.0.0.7" is not an ip6 address`},
		{"/ip6/fe80::1%eth0/tcp/4001", `"fe80::1%eth0" is not an ip6 address`},
		{"/ip6/2001:DB8::7/tcp/4001", `write "2001:DB8::7" as "2001:db8::7"`},
		{"/ip6/2001:db8:0::7/tcp/4001", `write "2001:db8:0::7" as "2001:db8::7"`},
		{"/ip4/0.0.0.0/tcp/4001", "0.0.0.0 is no address that others can dial"},
		{"/ip6/::/tcp/4001", ":: is no address that others can dial"},
		{"/ip6/::ffff:0.0.0.0/tcp/4001", `write "::ffff:0.0.0.0" as /ip4/0.0.0.0`},
		{"/ip6/::ffff:192.0.2.7/tcp/4001", `write "::ffff:192.0.2.7" as /ip4/192.0.2.7`},
		{"/ip4/224.0.0.1/tcp/4001", "224.0.0.1 is no address that others can dial"},
		{"/dns4/Bank.example/tcp/4001", `"Bank.example" is not a host name in lower case`},
		{"/dns4/bank.example./tcp/4001", `"bank.example." is not a host name in lower case`},
		{"/dns4//tcp/4001", `"" is not a host name in lower case`},
		{"/dns4/-bank/tcp/4001", `"-bank" is not a host name in lower case`},
		{"/dns4/bank_1/tcp/4001", `"bank_1" is not a host name in lower case`},
		{"/dns4/" + strings.Repeat("a", 64) + "/tcp/1",
			`"` + strings.Repeat("a", 48) + `…" is not a host name in lower case`},
		{"/ip4/10.0.0.7/tcp/0", `port "0" is not a number from 1 to 65535`},
		{"/ip4/10.0.0.7/tcp/65536", `port "65536" is not a number from 1 to 65535`},
		{"/ip4/10.0.0.7/tcp/04001", `port "04001" is not a number from 1 to 65535`},
		{"/ip4/10.0.0.7/tcp/+1", `port "+1" is not a number from 1 to 65535`},
		{"/ip4/10.0.0.7/tcp/", `port "" is not a number from 1 to 65535`},
	} {
		wantError(t, CheckAddress(c.in), `malformed address "`+wording.ClipAt(c.in, 80)+`": `+c.why)
	}
	long := "/dns4/" + strings.Repeat("a.", 150) + "a/tcp/1"
	wantError(t, CheckAddress(long), `malformed address "`+long[:80]+`…": it has 313 bytes, at most 300 are allowed`)
}

func TestCheckNameErrors(t *testing.T) {
	const rule = `want 1 to 32 characters of a-z, 0-9 and "-", the first a letter`
	wantError(t, CheckName(""), "the name is missing")
	for _, s := range []string{"Bank", "7bank", "-bank", "bank ", "bänk", "bank/..", strings.Repeat("a", 33)} {
		err := CheckName(s)
		wantError(t, err, `malformed name "`+s+`": `+rule)
	}
	for _, s := range []string{"b", "bank", "bank-7", strings.Repeat("a", 32)} {
		if err := CheckName(s); err != nil {
			t.Error(err)
		}
	}
}

// An accepted address needs no quoting and has no second spelling that is accepted too.
func FuzzCheckAddress(f *testing.F) {
	f.Add("/ip4/10.0.0.7/tcp/4001")
	f.Add("/ip6/2001:db8::7/udp/4001/quic-v1")
	f.Add("/dns4/bank.example/tcp/4001")
	f.Fuzz(func(t *testing.T, s string) {
		if CheckAddress(s) != nil {
			return
		}
		if quote(s) != `"`+s+`"` || s != strings.ToLower(s) || len(s) > maxAddress {
			t.Fatalf("%q is accepted", s)
		}
	})
}
