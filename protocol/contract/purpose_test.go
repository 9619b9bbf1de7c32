package contract_test

import (
	"strings"
	"testing"

	"github.com/hanse-project/hanse/protocol/contract"
)

// TestPurposesOfAVandal: a purpose is signed as it stands, so what could deceive a screen is refused, not cleaned.
func TestPurposesOfAVandal(t *testing.T) {
	for text, want := range map[string]string{
		`legal_basis = "contract"`: `text is missing: say what the result will be used for`,
		`text = "  "`:              `text has 2 bytes, want one line of at most 500 that prints, without blanks around it`,
		`text = "a\nb"`:            `text has 3 bytes, want one line of at most 500 that prints, without blanks around it`,
		"text = \"a\"\ncontact = \"\\u202Emoc.knab@x\"": `contact has 13 bytes, want one line of at most 500 that prints, without blanks around it`,
		"text = \"a\"\nretention = \"\\u001B[2J\"":      `retention has 4 bytes, want one line of at most 500 that prints, without blanks around it`,
		`text = "` + strings.Repeat("x", 501) + `"`:     `text has 501 bytes, want one line of at most 500 that prints, without blanks around it`,
	} {
		wantRefusal(t, goodJob+"[purpose]\n"+text+"\n", `job "credit-risk": purpose: `+want)
		_, err := contract.ParsePurpose("p.toml", []byte("[purpose]\n"+text+"\n"))
		if err == nil || err.Error() != "p.toml: purpose: "+want {
			t.Errorf("of %q alone: %v", text, err)
		}
	}
	wantRefusal(t, goodJob+"[purpose]\ntext = \"a\"\nuse = \"b\"\n", `job: line 16: unknown key "purpose.use"`)
	if _, err := contract.ParsePurpose("p.toml", nil); err == nil {
		t.Error("a file without a purpose has one")
	}
}
