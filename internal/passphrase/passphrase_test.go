package passphrase

import (
	"os"
	"strings"
	"testing"
)

// TestTheVariableIsReadOnce: a program that is started after the passphrase was read has no variable of it, and another
// key is opened all the same. What is read is the caller's, who may clear it.
func TestTheVariableIsReadOnce(t *testing.T) {
	t.Setenv(Variable, "correct horse")
	s := Source{Environment: new(Environment)}
	for range 2 {
		p, err := s.Old(t.Context(), "bank.key")
		if err != nil || string(p) != "correct horse" {
			t.Errorf("%q, %v", p, err)
		}
		clear(p)
		if _, there := os.LookupEnv(Variable); there {
			t.Error("the variable is there once it was read")
		}
	}
	if p, err := s.New(t.Context(), "new.key"); err != nil || string(p) != "correct horse" {
		t.Errorf("for a new key: %q, %v", p, err)
	}
}

// TestNobodyToAsk says what to do where there is neither a passphrase nor a person.
func TestNobodyToAsk(t *testing.T) {
	t.Setenv(Variable, "")
	s := Source{Environment: new(Environment)}
	if _, err := s.Old(t.Context(), "bank.key"); err == nil || !strings.HasSuffix(err.Error(), "--passphrase-file FILE") {
		t.Errorf("an old key: %v", err)
	}
	if _, err := s.New(t.Context(), "bank.key"); err == nil || !strings.Contains(err.Error(), "--no-passphrase") {
		t.Errorf("a new key: %v", err)
	}
}
