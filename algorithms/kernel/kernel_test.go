package kernel

import "testing"

func TestParseNames(t *testing.T) {
	for _, k := range []Kind{Gaussian, Laplace, Matern32, Matern52} {
		if got, err := ParseKind(k.String()); err != nil || got != k {
			t.Errorf("ParseKind(%q) = %v, %v", k, got, err)
		}
	}
	for _, l := range []Loss{Square, Logistic, SmoothHinge} {
		if got, err := ParseLoss(l.String()); err != nil || got != l {
			t.Errorf("ParseLoss(%q) = %v, %v", l, got, err)
		}
	}
	for _, s := range []Scaling{MinMax, Standard, Rank} {
		if got, err := ParseScaling(string(s)); err != nil || got != s {
			t.Errorf("ParseScaling(%q) = %v, %v", s, got, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	_, kind := ParseKind("rbf")
	_, loss := ParseLoss("hinge")
	_, scaling := ParseScaling("onehot")
	tests := []struct {
		err  error
		want string
	}{
		{kind, `unknown kernel "rbf": it must be one of gaussian, laplace, matern32, matern52`},
		{loss, `unknown loss "hinge": it must be one of square, logistic, smooth-hinge`},
		{scaling, `unknown scaling "onehot": it must be one of auto, minmax, standard, rank`},
		{Kernel{Kind: 9, Sigma: 1}.Validate(), `unknown kernel kind 9: it must be one of gaussian, laplace, matern32, matern52`},
		{Kernel{Kind: Gaussian}.Validate(), `kernel width sigma is 0: it must lie in [1e-06, 1e+09]`},
	}
	for _, test := range tests {
		wantError(t, test.err, test.want)
	}
	if got := Kind(0).String(); got != "unknown(0)" {
		t.Errorf("the zero kind is called %q", got)
	}
}

// wantError checks an error's exact text.
func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("error\n  %v\nwant\n  %s", err, want)
	}
}

func FuzzParseNames(f *testing.F) {
	f.Add("gaussian")
	f.Add("smooth-hinge")
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) {
		if k, err := ParseKind(s); err == nil && k.String() != s {
			t.Errorf("kind %q reads back as %q", s, k)
		}
		if l, err := ParseLoss(s); err == nil && l.String() != s {
			t.Errorf("loss %q reads back as %q", s, l)
		}
	})
}
