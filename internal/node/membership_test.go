package node

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/keys"
)

// ruled puts rules into the charter.
func (l *testNetwork) ruled(change func(r *keys.Rules)) {
	l.t.Helper()
	c := l.charter.Charter
	change(&c.Rules)
	var err error
	if l.charter, err = keys.NewCharter(c); err != nil {
		l.t.Fatal(err)
	}
	for _, k := range l.keys {
		if err := l.charter.Sign(k); err != nil {
			l.t.Fatal(err)
		}
	}
}

// TestProberAsksForOnePerson has a member align a table of one row. It succeeds, by rules that say nothing: "1 common
// row" or "too few" is whether all others have that person.
func TestProberAsksForOnePerson(t *testing.T) {
	l := newTestNetwork(t, 3, 1)
	customers{200, 3}.write(l, same)
	for person, there := range map[int]bool{3: true, 1: false} { // the insurer lacks the second
		l.writeTable(0, "train", fmt.Sprintf("id,phone,a,y\n%s,0612345678,1,0\n", same(0, person)))
		l.startAll()
		r, _, err := l.propose(l.align(fmt.Sprintf("person-%d", person), "train", ""))
		if there && (err != nil || r.Aligned.Common != 1) || !there && (err == nil || !strings.Contains(err.Error(), "few")) {
			t.Errorf("the person is there: %t: %+v, error %v", there, r, err)
		}
		for i := range l.names {
			l.stops[i]()
		}
	}
}

// spoken is all that a federation's nodes say.
type spoken struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (o *spoken) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String is what was said so far.
func (o *spoken) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// TestTooFewIsToldWithoutANumber runs alignments that end with too few rows, and looks for how many were common in all
// that any party keeps, logs, prints or answers. It succeeds: the digest of the number is in everybody's transcript.
func TestTooFewIsToldWithoutANumber(t *testing.T) {
	for name, parameters := range map[string]string{"dh": "", "helper": "\nmode = \"helper\"\nhelper = \"retailer\""} {
		t.Run(name, func(t *testing.T) {
			l := newTestNetwork(t, 4, 1)
			people := customers{230, 3}
			people.write(l, same)
			if parameters != "" {
				l.idle = 3
			} else {
				people.parties = 4
			}
			number := 0 // 161 beside a helper, else 138
			for person := range people.people {
				if people.common(person) {
					number++
				}
			}
			var told spoken
			l.log = slog.New(slog.NewTextHandler(&told, &slog.HandlerOptions{Level: slog.LevelDebug}))
			for i := range l.names {
				l.told[i] = func(e jobs.Event) {
					text, err := json.Marshal(e)
					fmt.Fprintf(&told, "%s %v\n", text, err)
				}
			}
			l.startAll()
			_, h, err := l.propose(l.align("customers", "train", fmt.Sprintf("min_rows = %d", number+1)+parameters))
			if err == nil {
				t.Fatal("it opens")
			}
			fmt.Fprintln(&told, err)
			for i, n := range l.nodes {
				s, _ := n.job(h)
				if err := waitFinal(t, s); err != nil {
					t.Errorf("%s: %v", l.names[i], err)
				}
				info, err := json.Marshal(l.infoAt(i, h))
				fmt.Fprintf(&told, "%s %v\n", info, err)
				l.stops[i]()
			}
			said := regexp.MustCompile(fmt.Sprintf(`.*[ =:"(]%d[ ,"})\n].*`, number))
			for _, line := range said.FindAllString(told.String(), -1) {
				t.Errorf("%s", line)
			}
			digest := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(number)))
			kept := 0
			for i := range l.names {
				err := filepath.WalkDir(filepath.Join(l.dirs[i], "node"), func(path string, d fs.DirEntry, err error) error {
					if err != nil || d.IsDir() {
						return err
					}
					data, err := os.ReadFile(path)
					if bytes.Contains(data, digest[:]) || bytes.Contains(data, []byte(hex.EncodeToString(digest[:]))) {
						kept++
						t.Logf("%s has the number's digest", filepath.Base(path))
					}
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			if kept < len(l.names) {
				t.Errorf("%d files have the number, want each party's transcript", kept)
			}
		})
	}
}
