package he

import (
	"go/parser"
	"go/token"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tuneinsight/lattigo/v5/ring"
)

func TestSchemeIsWithinTheTableOfSecureParameters(t *testing.T) {
	s := newTestScheme(t)
	if s.logModule != 120 || s.allowed != 218 || s.params.N() != Degree {
		t.Errorf("modulus of %d bits, %d allowed, degree %d", s.logModule, s.allowed, s.params.N())
	}
	want := "at least 128 bits of security: a modulus of 120 bits over a ring of degree 8192 with ternary secrets, where the Homomorphic Encryption Standard allows 218 bits"
	if s.Level() != want {
		t.Errorf("level %q, want %q", s.Level(), want)
	}
	for _, q := range s.primes {
		if !new(big.Int).SetUint64(q).ProbablyPrime(0) || q%(2*Degree) != 1 {
			t.Errorf("%d is not a prime that is 1 modulo %d", q, 2*Degree)
		}
	}
	if xs, ok := s.params.Xs().(ring.Ternary); !ok || xs.P != 2.0/3 {
		t.Errorf("secrets are %v, want uniform ternary ones", s.params.Xs())
	}
}

func TestSchemeRefusesWeakParameters(t *testing.T) {
	_, err := newScheme(12, [2]uint64{prime0, prime1})
	wantError(t, err, "a modulus of 120 bits over a ring of degree 2^12 is under 128 bits of security, want at most 109 bits")
	_, err = newScheme(9, [2]uint64{prime0, prime1})
	wantError(t, err, "has no ring of degree 2^9")
}

// TestNobodyElseImportsLattigo reads the sources.
func TestNobodyElseImportsLattigo(t *testing.T) {
	root, err := filepath.Abs("../..")
	must(t, err)
	must(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasPrefix(path,
			filepath.Join(root, "secagg", "he")+string(os.PathSeparator)) {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range file.Imports {
			if strings.Contains(i.Path.Value, "tuneinsight") {
				t.Errorf("%s imports %s", path, i.Path.Value)
			}
		}
		return nil
	}))
}
