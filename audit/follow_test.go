package audit

import (
	"bytes"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/audit/views"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// kept returns the hash of the payload of the first record of party i that is selected.
func (f *federation) kept(i int, m match) keys.Hash {
	f.t.Helper()
	for _, r := range f.records(i) {
		if m(&r) {
			return r.Sum()
		}
	}
	f.t.Fatal("no such record")
	return keys.Hash{}
}

// damage changes a byte of a payload in party i's store.
func (f *federation) damage(i int, sum keys.Hash) {
	f.t.Helper()
	payload, err := f.stores[i].Get(sum)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := f.stores[i].Close(); err != nil {
		f.t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(f.payloads(i), "pack-*"))
	if err != nil || len(files) != 1 {
		f.t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		f.t.Fatal(err)
	}
	text[bytes.Index(text, payload)+len(payload)/2] ^= 1
	if err := os.WriteFile(files[0], text, 0o600); err != nil {
		f.t.Fatal(err)
	}
	if f.stores[i], err = transcript.OpenStore(f.payloads(i), 0); err != nil {
		f.t.Fatal(err)
	}
}

// payloads is the folder of party i's store.
func (f *federation) payloads(i int) string { return filepath.Join(f.dir, "payloads-"+f.names[i][1:]) }

// small is a small masked training.
func small(t testing.TB) *federation {
	f := newFederation(t, 60, 1, fdskl.Masked, contract.Star, fdskl.Params{Features: 24, Iterations: 5})
	must(t, f.learn(-1, 0, nil))
	return f
}

func TestChangedPayloadIsNamed(t *testing.T) {
	f := small(t)
	f.damage(0, f.kept(0, of(transcript.TypeReceived, "angles", 2)))
	r := f.audited(f.input())
	wantCheck(t, r.Checks, finding.CheckPayloads, finding.Failed, "1 of ")
	wantCheck(t, r.Checks, finding.CheckPayloads, finding.Failed, "payload store "+f.payloads(0)+": payload ")
	wantCheck(t, r.Checks, finding.CheckPayloads, finding.Failed, "pack-000001, offset ")
	wantCheck(t, r.Checks, finding.CheckPayloads, finding.Failed, "the payload does not have the hash that its head says")
	wantAttack(t, r, "difference", "p0", "angles", finding.Skipped, "1 payload that the attacks need are missing or were changed")
	wantAttack(t, r, "difference", "p0", views.ViewActive, finding.Disclosed, "rebuilt")
	if r.Verdict != finding.Unverifiable || !strings.Contains(r.Summary, "payload") {
		t.Errorf("verdict %s: %s", r.Verdict, r.Summary)
	}
}

func TestMissingPayloadsAreNamed(t *testing.T) {
	f := small(t)
	gone := f.kept(1, of(transcript.TypeSent, "angles", 0))
	in := f.input()
	in.Sources[1].Payload = func(sum [32]byte) ([]byte, error) {
		if sum == gone {
			return nil, fs.ErrNotExist
		}
		return f.stores[1].Get(sum)
	}
	empty, err := transcript.OpenStore(filepath.Join(f.dir, "nothing"), 0)
	mustDo(t, err)
	in.Sources[2].Payload = empty.Get
	r := f.audited(in)
	wantCheck(t, r.Checks, finding.CheckPayloads, finding.Failed, "that the transcript says were kept are missing or were changed, the first: record ")
	n := 0
	for _, c := range r.Checks {
		if c.Name == finding.CheckPayloads && c.Verdict == finding.Failed {
			n++
		}
	}
	if n != 2 || r.Verdict != finding.Unverifiable {
		t.Errorf("%d checks failed, verdict %s", n, r.Verdict)
	}
}

func TestPayloadOfAnotherLengthIsNamed(t *testing.T) {
	f := small(t)
	in := f.input()
	in.Sources[1].Payload = func([32]byte) ([]byte, error) { return []byte("abc"), nil }
	wantCheck(t, f.audited(in).Checks, finding.CheckPayloads, finding.Failed, " has 3 bytes, the transcript says ")
}

// A broadcast that cannot be had blinds the follower for its session, which is said even when later
// sessions can be followed.
func TestLostBroadcastIsNamed(t *testing.T) {
	f := newFederation(t, 100, 2, fdskl.Masked, contract.Star,
		fdskl.Params{Schedule: fdskl.DoublyStochastic, Iterations: 20, Batch: 64, BlockFeatures: 4})
	f.learn(1, 30, errKilled)
	must(t, f.learn(-1, 0, nil))
	gone := f.kept(3, operationOf("batch"))
	in := f.input()
	in.Sources[3].Payload = func(sum [32]byte) ([]byte, error) {
		if sum == gone {
			return nil, fs.ErrNotExist
		}
		return f.stores[3].Get(sum)
	}
	wantAttack(t, f.audited(in), "difference", "p3", "angles", finding.Skipped, "the broadcast \"batch\" of record ")
}

// hostile returns the contract with other numbers, still under its hash.
func (f *federation) hostile(rows int, parameter string, value any) *contract.Contract {
	contract, job := *f.contract, *f.contract.Job
	contract.Parties = slices.Clone(contract.Parties)
	for i := range contract.Parties {
		contract.Parties[i].Rows = rows
	}
	job.Parameters = make(map[string]any)
	for k, v := range f.contract.Job.Parameters {
		job.Parameters[k] = v
	}
	job.Parameters[parameter] = value
	contract.Job = &job
	return &contract
}

func TestHostileContractsAreNoMatter(t *testing.T) {
	f := small(t)
	for _, c := range []struct {
		name, parameter string
		rows            int
		value           any
		want            string
	}{
		{"rows", "seed", 1 << 50, "seed", "attacks on angles work on at most 67108864 rows, the contract has 1125899906842624"},
		{"most rows", "seed", 1 << 26, "seed", "a sum of "},
		{"features", "features", 60, 1 << 20, "a sum of "},
		{"too many features", "features", 60, 1 << 30, "features is 1073741824"},
		{"features in words", "features", 60, "many", "features"},
		{"unknown parameter", "depth", 60, 3, "depth"},
		{"unknown kernel", "kernel", 60, "sausage", "sausage"},
		{"another schedule", "schedule", 60, fdskl.DoublyStochastic, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := f.input()
			in.Contract, in.Columns = f.hostile(c.rows, c.parameter, c.value), nil
			r := f.audited(in)
			if a := attackOf(r, "difference", "p0", views.ViewActive); a != nil && a.Verdict != finding.Skipped {
				t.Errorf("%s: %s", a.Verdict, a.Detail)
			}
			wantAttack(t, r, "difference", "p0", "angles", finding.Skipped, c.want)
			wantAttack(t, r, "uniformity", "p0", "masked words", finding.Clean, "")
		})
	}
}

// deepen gives every record that is selected another shape.
func deepen(m match, change func(r *transcript.Record)) edit { return alter(m, -1, change) }

func TestStrangeRecordsBlindTheFollowerOnly(t *testing.T) {
	f := small(t)
	angles := operationOf("angles")
	for _, c := range []struct {
		name string
		edit edit
		want string
	}{
		{"bytes for turns", deepen(angles, func(r *transcript.Record) { r.Encoding, r.Size = contract.Bytes, r.Size/2 }),
			"angles as bytes, want turns or real numbers"},
		{"another size", deepen(angles, func(r *transcript.Record) { r.Size = math.MaxUint64 }), "a sum of "},
		{"reals for turns", deepen(angles, func(r *transcript.Record) { r.Encoding, r.Size = contract.Float64, r.Size*4 }),
			""},
		{"a chunk far out", deepen(angles, func(r *transcript.Record) { r.Chunk = math.MaxUint32 }), ""},
		{"a batch", both(deepen(operationOf("target"), func(r *transcript.Record) { r.Kind = "batch" }),
			deepen(angles, func(r *transcript.Record) { r.Kind = "batch" })), `"batch" was told where "resume-point" is due`},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := f.input()
			for i := range in.Sources {
				in.Sources[i].Path, in.Sources[i].Open = "forged", source("forged", f.deviate(i, c.edit)).Open
			}
			r := f.audited(in)
			if a := attackOf(r, "difference", "p0", views.ViewActive); a != nil && a.Verdict != finding.Skipped {
				t.Errorf("%s: %s", a.Verdict, a.Detail)
			}
			if c.want != "" {
				wantAttack(t, r, "difference", "p0", "angles", finding.Skipped, c.want)
			}
		})
	}
}
