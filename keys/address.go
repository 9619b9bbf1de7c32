package keys

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/hanse-project/hanse/internal/wording"
)

// MaxAddresses is the largest number of addresses of one member.
const MaxAddresses = 8

// maxAddress is the longest address, in bytes: a DNS name has at most 253.
const maxAddress = 300

// addressShape is what an address looks like, for errors.
const addressShape = "want /ip4/…, /ip6/…, /dns/…, /dns4/… or /dns6/… with /tcp/PORT or /udp/PORT/quic-v1"

// CheckAddress returns an error that quotes s and states the rule unless s is an address other
// members can dial, in multiaddr text: /ip4/10.0.0.7/tcp/4001, /dns4/bank.example/tcp/4001,
// /ip6/2001:db8::7/udp/4001/quic-v1. Only the one canonical spelling of an address is accepted,
// so that two equal addresses are equal texts.
func CheckAddress(s string) error {
	if err := checkAddress(s); err != nil {
		return fmt.Errorf("malformed address %q: %w", wording.ClipAt(s, 80), err)
	}
	return nil
}

// checkAddress is CheckAddress without the quote.
func checkAddress(s string) error {
	if len(s) > maxAddress {
		return fmt.Errorf("it has %d bytes, at most %d are allowed", len(s), maxAddress)
	}
	if strings.Contains(s, "/p2p/") {
		return errors.New("leave out /p2p/ and what follows, the member's id stands beside it")
	}
	part := strings.Split(s, "/")
	tcp := len(part) == 5 && part[3] == "tcp"
	quic := len(part) == 6 && part[3] == "udp" && part[5] == "quic-v1"
	if part[0] != "" || !tcp && !quic {
		return errors.New(addressShape)
	}
	if err := checkHost(part[1], part[2]); err != nil {
		return err
	}
	port, err := strconv.ParseUint(part[4], 10, 16)
	if err != nil || port == 0 || strconv.FormatUint(port, 10) != part[4] {
		return fmt.Errorf("port %q is not a number from 1 to 65535", wording.ClipAt(part[4], 16))
	}
	return nil
}

// checkHost checks a host against the protocol that stands before it: the canonical text of an IP
// address that can be dialled, or a host name of RFC 1123 in lower case and without a final dot.
func checkHost(protocol, host string) error {
	switch protocol {
	case "ip4", "ip6":
		ip, err := netip.ParseAddr(host)
		if err != nil || ip.Zone() != "" || ip.Is4() != (protocol == "ip4") {
			return fmt.Errorf("%q is not an %s address", wording.ClipAt(host, 48), protocol)
		}
		if ip.String() != host {
			return fmt.Errorf("write %q as %q", host, ip)
		}
		if ip.Is4In6() {
			return fmt.Errorf("write %q as /ip4/%s", host, ip.Unmap())
		}
		if ip.IsUnspecified() || ip.IsMulticast() {
			return fmt.Errorf("%s is no address that others can dial", host)
		}
		return nil
	case "dns", "dns4", "dns6":
		const most, mostLabel = 253, 63
		ok := len(host) <= most
		for label := range strings.SplitSeq(host, ".") {
			ok = ok && len(label) >= 1 && len(label) <= mostLabel && !strings.HasPrefix(label, "-") &&
				!strings.HasSuffix(label, "-")
		}
		for _, r := range host {
			ok = ok && ('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '.')
		}
		if !ok {
			return fmt.Errorf("%q is not a host name in lower case", wording.ClipAt(host, 48))
		}
		return nil
	}
	return errors.New(addressShape)
}
