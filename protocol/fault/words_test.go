package fault_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/protocol/fault"
)

// codes are all codes of the vocabulary.
var codes = []fault.Code{
	fault.CodeStopped, fault.CodeLink, fault.CodeLeft, fault.CodeDisk, fault.CodeDescriptors,
	fault.CodeMemory, fault.CodeHeld,
	fault.CodeData, fault.CodeDamaged, fault.CodeClients, fault.CodeBusy, fault.CodeEnding, fault.CodeEnded,
	fault.CodeUnsigned,
	fault.CodeDeviation, fault.CodeContradicted, fault.CodeCharter, fault.CodeJob, fault.CodeContract,
	fault.CodeTable,
	fault.CodeOffer, fault.CodeLabel, fault.CodeRows, fault.CodeTooFew, fault.CodeSays, fault.CodeScored,
	fault.CodePolicy, fault.CodeUnknown,
	fault.CodeRequest, fault.CodeAbandoned, fault.CodeMethod, fault.CodeVersions,
	fault.CodeInvitee, fault.CodeLimit, fault.CodeProgram, fault.CodeRevoked, fault.CodeApart,
	fault.CodeTwin,
	fault.CodeRemoved, fault.CodeAnew, fault.CodeTwice, fault.CodeWorker, fault.CodeSpent,
	fault.CodeWorkers, fault.CodeMember,
	fault.CodeInvitation,
	fault.CodeOutdated,
	fault.CodeSignature, fault.CodeMalformed,
}

// TestEveryCodeHasWords: with as many names and numbers as it likes, and with none.
func TestEveryCodeHasWords(t *testing.T) {
	for _, c := range codes {
		for _, f := range []fault.Fault{{Code: c}, {Code: c, Names: []string{"bank", "angles"}, Numbers: []int64{7, 8},
			Ref: "7f3a2c"}} {
			said := f.String()
			if strings.Contains(said, "%!") || strings.Contains(said, "no words for") || len(said) < 10 {
				t.Errorf("%s says %q", c, said)
			}
		}
	}
	if said := (&fault.Fault{Code: "of-tomorrow"}).String(); !strings.Contains(said,
		`"of-tomorrow", for which this version has no words`) {
		t.Errorf("a code of another version says %q", said)
	}
}

// TestADeviationNamesAllOfWhomItMayBeOne where nobody can tell which.
func TestADeviationNamesAllOfWhomItMayBeOne(t *testing.T) {
	f := fault.Fault{Code: fault.CodeDeviation, Names: []string{"bank", "telco", "insurer"}}
	if said, want := f.String(), "bank or telco or insurer did not follow the protocol"; said != want {
		t.Errorf("%q, want %q", said, want)
	}
}

// TestFaultsTravel: what is written is read as it was, and nothing but names and numbers is written.
func TestFaultsTravel(t *testing.T) {
	name := rapid.StringMatching(`[a-zA-Z0-9._-]{1,64}`).Filter(func(s string) bool { return s != "-" })
	rapid.Check(t, func(t *rapid.T) {
		f := fault.Fault{
			Code:    rapid.SampledFrom(codes).Draw(t, "code"),
			Names:   rapid.SliceOfN(name, 0, 3).Draw(t, "names"),
			Numbers: rapid.SliceOfN(rapid.Int64(), 0, 3).Draw(t, "numbers"),
			Ref:     rapid.StringMatching(`([0-9a-f]{6})?`).Draw(t, "ref"),
		}
		line := f.Encode()
		if len(line) > fault.MaxFault {
			t.Fatalf("%d bytes", len(line))
		}
		got := fault.DecodeFault(line)
		if len(f.Names) == 0 {
			f.Names = nil
		}
		if len(f.Numbers) == 0 {
			f.Numbers = nil
		}
		if !reflect.DeepEqual(*got, f) {
			t.Fatalf("%+v is read as %+v", f, *got)
		}
	})
}

// TestAFaultCarriesNoText: whatever stands in its fields, a line has no more than words and numbers.
func TestAFaultCarriesNoText(t *testing.T) {
	for _, f := range []fault.Fault{
		{Code: "deviation", Names: []string{"cell, with a comma", "/data/bank/train.csv", "bank"}},
		{Code: "deviation\x1b[2J"},
		{Code: "deviation", Ref: "no digits"},
		{Code: "deviation", Names: []string{"a", "b", "c", "d"}},
	} {
		line := string(f.Encode())
		if strings.Contains(line, "cell") || strings.Contains(line, "data") || strings.Contains(line, "\x1b") ||
			strings.Contains(line, "digits") {
			t.Errorf("%+v is written as %q", f, line)
		}
		if got := fault.DecodeFault([]byte(line)); got.Code == fault.CodeMalformed {
			t.Errorf("%q cannot be read", line)
		}
	}
}

// FuzzFault reads faults; what is read is written with the same bytes, and its words print.
func FuzzFault(f *testing.F) {
	f.Add([]byte("deviation bank,angles 7 7f3a2c"))
	f.Add([]byte("busy - - -"))
	f.Add([]byte("the table has the cell 17"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got := fault.DecodeFault(data)
		if got.Code == fault.CodeMalformed {
			return
		}
		if again := got.Encode(); string(again) != string(data) {
			t.Fatalf("%q is written as %q", data, again)
		}
		if strings.ContainsFunc(got.String(), func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Fatalf("%q says %q", data, got)
		}
	})
}

// TestThePageOfTheWireHasEveryCode: docs/wire.md lists the vocabulary.
func TestThePageOfTheWireHasEveryCode(t *testing.T) {
	page, err := os.ReadFile("../../docs/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range codes {
		if !strings.Contains(string(page), "`"+string(c)+"`") {
			t.Errorf("docs/wire.md does not have the code %s", c)
		}
	}
}
