package consent

import (
	"fmt"
	"testing"
	"time"
)

func TestKeeping(t *testing.T) {
	for _, c := range []struct {
		lines   string
		days    time.Duration
		limited bool
		quota   int64
		want    string
	}{
		{"", 0, false, 0, "[]"},
		{`keep_payloads = "30d"`, 30, true, 0, "[]"},
		{`keep_payloads = "0d"`, 0, true, 0, "[]"},
		{`disk_quota = "50GB"`, 0, false, 50e9, "[]"},
		{`disk_quota = "1TB"`, 0, false, 1e12, "[]"},
		{`keep_payloads = "30"`, 0, false, 0, `[policy p: disk: keep_payloads: "30" is no number of days: want one from ` +
			`0d to 36500d, such as 30d]`},
		{`keep_payloads = "-1d"`, 0, false, 0, `[policy p: disk: keep_payloads: "-1d" is no number of days: want one ` +
			`from 0d to 36500d, such as 30d]`},
		{`disk_quota = "5 GB"`, 0, false, 0, `[policy p: disk: disk_quota: "5 GB" is no size: want a whole number and ` +
			`MB, GB or TB, such as 50GB]`},
		{`disk_quota = "0GB"`, 0, false, 0, `[policy p: disk: disk_quota: "0GB" is no size: want a whole number and MB, ` +
			`GB or TB, such as 50GB]`},
		{`disk_quota = "9999999TB"`, 0, false, 0, `[policy p: disk: disk_quota: "9999999TB" is no size: want a whole ` +
			`number and MB, GB or TB, such as 50GB]`},
	} {
		p, err := Parse("p", []byte("format = \"hanse-policy-v1\"\n"+c.lines+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		d, limited := p.KeepsPayloads()
		if d != c.days*24*time.Hour || limited != c.limited || p.Quota() != c.quota {
			t.Errorf("%s: %v, %v, %d bytes", c.lines, d, limited, p.Quota())
		}
		if got := fmt.Sprint(p.Mistakes(nil)); got != c.want {
			t.Errorf("%s: mistakes are\n%s, want\n%s", c.lines, got, c.want)
		}
	}
}

// FuzzParseSize: what is read is positive, and no more than a million terabytes.
func FuzzParseSize(f *testing.F) {
	for _, s := range []string{"50GB", "1MB", "1000000TB", "GB", "-1GB", "1e3GB", "١GB"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := ParseSize(s); err == nil && (n < 1e6 || n > 1e18) {
			t.Errorf("%q is %d bytes", s, n)
		}
	})
}
