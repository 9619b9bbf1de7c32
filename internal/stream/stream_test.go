package stream

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// file writes a stream.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rows.csv")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestRowsComeInTheirOrder(t *testing.T) {
	s, err := Open(file(t, "b, y,a\n2,20,1\n4,40,3\n6,60,5\n"), "y", nil)
	must(t, err)
	defer s.Close()
	if !slices.Equal(s.Columns(), []string{"b", "a"}) {
		t.Errorf("columns %v", s.Columns())
	}
	s.NumberFrom(7) // of standard input only
	for i := 1; i <= 3; i++ {
		r, err := s.Next(t.Context())
		must(t, err)
		if want := []float64{float64(2 * i), float64(2*i - 1)}; r.Number != i || !slices.Equal(r.Inputs, want) ||
			r.Label != float64(20*i) {
			t.Errorf("row %+v, want number %d and inputs %v", r, i, want)
		}
	}
	if _, err := s.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("error %v, want the end", err)
	}
}

func TestNamedColumnsAndGzip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.csv.gz")
	f, err := os.Create(path)
	must(t, err)
	z := gzip.NewWriter(f)
	z.Write([]byte("a,b,c,y\n1,2,3,4\n"))
	must(t, errors.Join(z.Close(), f.Close()))
	s, err := Open(path, "y", []string{"c", "a"})
	must(t, err)
	defer s.Close()
	if r, err := s.Next(t.Context()); err != nil || !slices.Equal(r.Inputs, []float64{3, 1}) {
		t.Errorf("row %+v, error %v", r, err)
	}
}

func TestBadStreamsAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"":                  "is empty: want a line with the columns' names, and rows below it",
		"a,b\n1,2\n":        `there is no column "y" for the label; it has a, b`,
		"a,a,y\n1,2,3\n":    `column "a" stands twice in the header`,
		"a,y\n1,2\nx,3\n":   `row 2, column a: "x", want a finite number`,
		"a,y\n1,2\n1,NaN\n": `row 2, column the label's: "NaN", want a finite number`,
		"a,y\n1,2\n1,+Inf":  `row 2, column the label's: "+Inf", want a finite number`,
		"a,y\n1,2\n1\n":     "row 2: record on line 3: wrong number of fields",
	} {
		if err := readAll(t, file(t, text)); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
}

// readAll reads a stream to its end.
func readAll(t *testing.T, path string) error {
	s, err := Open(path, "y", nil)
	if err != nil {
		return err
	}
	defer s.Close()
	for {
		if _, err := s.Next(t.Context()); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	s, err := Open(file(t, "a,y\n1,2\n"), "y", nil)
	must(t, err)
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 { // a row that is there may be handed out all the same
		if _, err := s.Next(ctx); errors.Is(err, context.Canceled) {
			return
		}
	}
	t.Error("the wait does not end")
}

// TestRowsReadAheadKeepTheirTurn reads ahead twice and further, and takes rows between.
func TestRowsReadAheadKeepTheirTurn(t *testing.T) {
	s, err := Open(file(t, "a,y\n1,x\n2,20\n3,30\nbad,40\n5,50\n"), "y", nil)
	must(t, err)
	defer s.Close()
	for _, c := range []struct{ n, want int }{{2, 2}, {1, 1}, {0, 0}, {9, 3}, {9, 3}} {
		rows, err := s.Ahead(t.Context(), c.n)
		if err != nil || len(rows) != c.want {
			t.Fatalf("%d rows ahead: %v, error %v, want %d", c.n, rows, err, c.want)
		}
		for i, x := range rows {
			if !slices.Equal(x, []float64{float64(i + 1)}) {
				t.Errorf("row %d ahead is %v", i+1, x)
			}
		}
	}
	if _, err := s.Next(t.Context()); err == nil || !strings.HasSuffix(err.Error(),
		`row 1, column the label's: "x", want a finite number`) {
		t.Errorf("error %v, want that of the label", err)
	}
	if r, err := s.Next(t.Context()); err != nil || r.Number != 2 || r.Label != 20 {
		t.Errorf("row %+v, error %v", r, err)
	}
	if rows, err := s.Ahead(t.Context(), 5); err != nil || len(rows) != 1 {
		t.Errorf("rows ahead %v, error %v", rows, err)
	}
	for _, want := range []string{"", `row 4, column a: "bad", want a finite number`, "", "EOF"} {
		if _, err := s.Next(t.Context()); (err == nil) != (want == "") || err != nil &&
			!strings.HasSuffix(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestNothingIsReadAheadBeyondTheEnd(t *testing.T) {
	s, err := Open(file(t, "a,y\n1,2\n"), "y", nil)
	must(t, err)
	defer s.Close()
	for range 2 {
		if rows, err := s.Ahead(t.Context(), 256); err != nil || len(rows) != 1 {
			t.Errorf("rows ahead %v, error %v", rows, err)
		}
	}
	if _, err := s.Next(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("error %v, want the end", err)
	}
}

// TestAPipeIsNotReadAhead: its rows may be long in coming.
func TestAPipeIsNotReadAhead(t *testing.T) {
	r, w, err := os.Pipe()
	must(t, err)
	if is, err := isFile(r); is || err != nil {
		t.Errorf("a pipe is a file: %v, error %v", is, err)
	}
	must(t, errors.Join(r.Close(), w.Close()))
	s := &Stream{}
	if rows, err := s.Ahead(t.Context(), 3); rows != nil || err != nil {
		t.Errorf("rows ahead %v, error %v", rows, err)
	}
}

// TestALiveStreamEndsWhenItIsOver while a row is waited for, and a file does not.
func TestALiveStreamEndsWhenItIsOver(t *testing.T) {
	over := make(chan struct{})
	close(over)
	live := &Stream{lines: make(chan line)}
	if _, err := live.NextUntil(t.Context(), over); !errors.Is(err, io.EOF) {
		t.Errorf("error %v, want the end", err)
	}
	s, err := Open(file(t, "a,y\n1,2\n3,4\n"), "y", nil)
	must(t, err)
	defer s.Close()
	for i := 1; i <= 2; i++ {
		if r, err := s.NextUntil(t.Context(), over); err != nil || r.Number != i {
			t.Errorf("row %+v, error %v", r, err)
		}
	}
}

func TestRowsNeedNoLabels(t *testing.T) {
	path := file(t, "id,b,a,y\nr1,2,1,20\nr2,4,3, \n")
	for _, c := range []struct {
		bare   Bare
		labels []float64
		ids    []string
	}{
		{Bare{Label: "y", Columns: []string{"a", "b"}, ID: "id"}, []float64{20, math.NaN()}, []string{"r1", "r2"}},
		{Bare{Label: "z", Columns: []string{"a", "b"}}, []float64{math.NaN(), math.NaN()}, []string{"", ""}},
	} {
		s, err := OpenBare(path, c.bare)
		must(t, err)
		for i := range c.labels {
			r, err := s.Next(t.Context())
			must(t, err)
			same := r.Label == c.labels[i] || math.IsNaN(r.Label) && math.IsNaN(c.labels[i])
			if !same || r.ID != c.ids[i] || !slices.Equal(r.Inputs, []float64{float64(2*i + 1), float64(2*i + 2)}) {
				t.Errorf("row %+v, want label %v and id %q", r, c.labels[i], c.ids[i])
			}
		}
		must(t, s.Close())
	}
	for _, c := range []struct {
		bare Bare
		want string
	}{
		{Bare{Label: "y", Columns: []string{"a", "c"}}, `there is no input column "c"; it has id, b, a, y`},
		{Bare{Label: "y", Columns: []string{"a"}, ID: "key"}, `there is no column "key" for the ids; it has id, b, a, y`},
	} {
		if _, err := OpenBare(path, c.bare); err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// TestAByteOrderMarkIsNoPartOfAName: spreadsheets write one.
func TestAByteOrderMarkIsNoPartOfAName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.csv")
	must(t, os.WriteFile(path, []byte("\ufeffx,y\n1,2\n"), 0o600))
	s, err := Open(path, "y", []string{"x"})
	must(t, err)
	must(t, s.Close())
}

// must ends the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
