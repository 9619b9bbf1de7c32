package protocol_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/protocol"
)

// codes are all codes of the vocabulary.
var codes = []protocol.Code{
	protocol.CodeStopped, protocol.CodeLink, protocol.CodeLeft, protocol.CodeDisk, protocol.CodeDescriptors,
	protocol.CodeMemory,
	protocol.CodeData, protocol.CodeDamaged, protocol.CodeClients, protocol.CodeBusy, protocol.CodeEnded,
	protocol.CodeUnsigned,
	protocol.CodeDeviation, protocol.CodeContradicted, protocol.CodeCharter, protocol.CodeJob, protocol.CodeContract,
	protocol.CodeTable,
	protocol.CodeOffer, protocol.CodeLabel, protocol.CodeRows, protocol.CodeScored, protocol.CodePolicy, protocol.CodeUnknown,
	protocol.CodeRequest, protocol.CodeAbandoned, protocol.CodeMethod, protocol.CodeVersions,
	protocol.CodeInvitee, protocol.CodeLimit, protocol.CodeProgram, protocol.CodeRevoked, protocol.CodeApart,
	protocol.CodeTwin,
	protocol.CodeRemoved, protocol.CodeAnew, protocol.CodeTwice, protocol.CodeMember, protocol.CodeInvitation,
	protocol.CodeOutdated,
	protocol.CodeSignature, protocol.CodeMalformed,
}

// TestEveryCodeHasWords: with as many names and numbers as it likes, and with none.
func TestEveryCodeHasWords(t *testing.T) {
	for _, c := range codes {
		for _, f := range []protocol.Fault{{Code: c}, {Code: c, Names: []string{"bank", "angles"}, Numbers: []int64{7, 8},
			Ref: "7f3a2c"}} {
			said := f.String()
			if strings.Contains(said, "%!") || strings.Contains(said, "no words for") || len(said) < 10 {
				t.Errorf("%s says %q", c, said)
			}
		}
	}
	if said := (&protocol.Fault{Code: "of-tomorrow"}).String(); !strings.Contains(said,
		`"of-tomorrow", for which this version has no words`) {
		t.Errorf("a code of another version says %q", said)
	}
}

// TestFaultsTravel: what is written is read as it was, and nothing but names and numbers is written.
func TestFaultsTravel(t *testing.T) {
	name := rapid.StringMatching(`[a-zA-Z0-9._-]{1,64}`).Filter(func(s string) bool { return s != "-" })
	rapid.Check(t, func(t *rapid.T) {
		f := protocol.Fault{
			Code:    rapid.SampledFrom(codes).Draw(t, "code"),
			Names:   rapid.SliceOfN(name, 0, 3).Draw(t, "names"),
			Numbers: rapid.SliceOfN(rapid.Int64(), 0, 3).Draw(t, "numbers"),
			Ref:     rapid.StringMatching(`([0-9a-f]{6})?`).Draw(t, "ref"),
		}
		line := f.Encode()
		if len(line) > protocol.MaxFault {
			t.Fatalf("%d bytes", len(line))
		}
		got := protocol.DecodeFault(line)
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
	for _, f := range []protocol.Fault{
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
		if got := protocol.DecodeFault([]byte(line)); got.Code == protocol.CodeMalformed {
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
		got := protocol.DecodeFault(data)
		if got.Code == protocol.CodeMalformed {
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
	page, err := os.ReadFile("../docs/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range codes {
		if !strings.Contains(string(page), "`"+string(c)+"`") {
			t.Errorf("docs/wire.md does not have the code %s", c)
		}
	}
}
