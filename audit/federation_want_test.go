package audit

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/audit/attack"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/audit/views"
)

// audited audits, and holds the report against what is true of every report.
func (f *federation) audited(in *evidence.Input) *finding.Report {
	f.t.Helper()
	r, err := Run(f.t.Context(), in)
	if err != nil {
		f.t.Fatal(err)
	}
	wantJSON(f.t, r)
	return r
}

// wantJSON wants the fields that programs read, and no number that JSON does not have.
func wantJSON(t testing.TB, r *finding.Report) {
	t.Helper()
	text, err := json.Marshal(r)
	mustDo(t, err)
	var read struct {
		Verdict *string          `json:"verdict"`
		Checks  []map[string]any `json:"checks"`
		Attacks []map[string]any `json:"attacks"`
	}
	if err := json.Unmarshal(text, &read); err != nil || read.Verdict == nil ||
		len(read.Checks) == 0 || len(read.Attacks) == 0 {
		t.Fatalf("%v in %.300s", err, text)
	}
	for _, a := range read.Attacks {
		for _, field := range []string{"name", "party", "view", "rows", "unknown_columns", "equations", "recovered_share",
			"rms", "control_rms", "verdict"} {
			if _, ok := a[field]; !ok {
				t.Errorf("attack without %q: %v", field, a)
			}
		}
	}
	for _, c := range read.Checks {
		if c["name"] == "" || c["verdict"] == "" || c["detail"] == "" {
			t.Errorf("check %v", c)
		}
	}
}

// attackOf returns an attack on a party's view, nil when the report has none.
func attackOf(r *finding.Report, name, party, view string) *finding.Attack {
	for i, a := range r.Attacks {
		if a.Name == name && a.Party == party && a.View == view {
			return &r.Attacks[i]
		}
	}
	return nil
}

// wantAttack wants an attack with a verdict and a part of its detail.
func wantAttack(
	t testing.TB, r *finding.Report, name, party, view string, v finding.Verdict, part string,
) *finding.Attack {
	t.Helper()
	a := attackOf(r, name, party, view)
	if a == nil || a.Verdict != v || !strings.Contains(a.Detail, part) {
		t.Errorf("want %s on %s as %s to be %s with %q, have:", name, party, view, v, part)
		for _, b := range r.Attacks {
			t.Logf("  %s of %s as %s: %s: %s", b.Name, b.Party, b.View, b.Verdict, b.Detail)
		}
		return &finding.Attack{}
	}
	return a
}

// wantRebuilt wants the difference attack to rebuild every row, with an error of at most rms.
func wantRebuilt(t testing.TB, r *finding.Report, party, view string, v finding.Verdict, unknown int, rms float64) {
	t.Helper()
	a := wantAttack(t, r, "difference", party, view, v, "rebuilt 100.0 % of ")
	if a.RecoveredShare == nil || *a.RecoveredShare != 1 || *a.RMS > rms || *a.ControlRMS < 100*rms ||
		a.UnknownColumns != unknown || a.Rank != unknown || a.Rows < 64 {
		t.Errorf("%s as %s: %s", party, view, shown(a))
	}
}

func shown(a *finding.Attack) string {
	a.Plot, a.Columns = nil, nil
	text, _ := json.Marshal(a)
	return string(text)
}

// wantHidden wants the difference attack on a tree parent to fail where it would not without masks.
func wantHidden(t testing.TB, r *finding.Report, party string) {
	t.Helper()
	a := wantAttack(t, r, "difference", party, views.ViewParent, finding.Clean, "nothing was rebuilt of ")
	if a.RecoveredShare == nil || *a.RecoveredShare > attack.GainShare || a.ControlShare == nil || *a.ControlShare != 1 {
		t.Errorf("%s: %s", party, shown(a))
	}
}

// wantNoneOf wants no check to have failed or leaked, and no attack but the active parties' to have found
// anything.
func wantNoneOf(t testing.TB, r *finding.Report) {
	t.Helper()
	for _, c := range r.Checks {
		if c.Verdict != finding.Passed && c.Name != "charter" {
			t.Errorf("check %s of %s: %s: %s", c.Name, c.Party, c.Verdict, c.Detail)
		}
	}
	for _, a := range r.Attacks {
		if a.Verdict == finding.Leak || a.Verdict == finding.Disclosed && a.View != views.ViewActive {
			t.Errorf("%s on %s as %s: %s: %s", a.Name, a.Party, a.View, a.Verdict, a.Detail)
		}
	}
}
