package sets

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"
)

// packedSVM is "+1 1:0.5 3:-1\n-1 2:1\n+1\n", packed by bzip2, which this language only unpacks.
const packedSVM = "QlpoOTFBWSZTWeZE+J4AAAPYAAAQQAt6ECAAMQDTTQNNAGlsOcI64vCcbVy8XckU4UJDmRPieA=="

// TestLIBSVMRowsAreCopied as they are, as many as asked for.
func TestLIBSVMRowsAreCopied(t *testing.T) {
	const text = "+1 1:0.5 3:-1\n-1 2:1\n+1\n"
	plain := put(t, t.TempDir(), "cod-rna", strings.Replace(text, "\n", "\r\n\n", 1))
	for rows, want := range map[int]string{1: text[:14], 2: text[:21], 3: text, 99: text} {
		var out bytes.Buffer
		n, err := CopyLIBSVM(&out, plain, rows, 3)
		if err != nil || out.String() != want || n != strings.Count(want, "\n") {
			t.Errorf("%d rows: %d, %q, %v", rows, n, out.String(), err)
		}
	}
	packed, err := base64.StdEncoding.DecodeString(packedSVM)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := CopyLIBSVM(&out, put(t, t.TempDir(), "cod-rna.bz2", string(packed)), 99, 3); err != nil ||
		out.String() != text {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// TestBadLIBSVMRowsAreNamed by line and word.
func TestBadLIBSVMRowsAreNamed(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "there are no rows, want LIBSVM text"},
		{"1 1:1\nyes 1:1\n", `line 2: the label: it holds "yes", want a finite number`},
		{"1 1:1 1:2\n", "line 1: index 1 comes after 1, want indices that increase up to 3"},
		{"1 4:1\n", "line 1: index 4 comes after 0, want indices that increase up to 3"},
		{"1 0:1\n", "line 1: index 0 comes after 0"},
		{"1 a:1\n", `line 1: "a:1" is not of the form index:value`},
		{"1 2\n", `line 1: "2" is not of the form index:value`},
		{"1 2:inf\n", `line 1: column 2: it holds "inf", want a finite number`},
	} {
		path := put(t, t.TempDir(), "cod-rna", c.text)
		_, err := CopyLIBSVM(&bytes.Buffer{}, path, 9, 3)
		wantError(t, err, path+": "+c.want)
	}
}

// creditHead is the first line of cs-training.csv: the row number has no name.
const creditHead = `"","SeriousDlqin2yrs","RevolvingUtilizationOfUnsecuredLines","age","NumberOfTime30-59DaysPastDueNotWorse",` +
	`"DebtRatio","MonthlyIncome","NumberOfOpenCreditLinesAndLoans","NumberOfTimes90DaysLate","NumberRealEstateLoansOrLines",` +
	`"NumberOfTime60-89DaysPastDueNotWorse","NumberOfDependents"` + "\n"

// TestCreditRowsAreMadeATable: the first column gets a name, NA becomes empty.
func TestCreditRowsAreMadeATable(t *testing.T) {
	path := put(t, t.TempDir(), "cs-training.csv",
		creditHead+"1,1,0.766126609,45,2,0.802982129,9120,13,0,6,0,2\n8,0,0.754463648,39,0,0.209940017,NA,8,0,0,0,NA\n9,0,1,2,3,4,5,6,7,8,9,10\n")
	var out bytes.Buffer
	n, err := CopyCredit(&out, path, 2)
	if err != nil {
		t.Fatal(err)
	}
	const want = "id,SeriousDlqin2yrs,RevolvingUtilizationOfUnsecuredLines,age,NumberOfTime30-59DaysPastDueNotWorse,DebtRatio,MonthlyIncome," +
		"NumberOfOpenCreditLinesAndLoans,NumberOfTimes90DaysLate,NumberRealEstateLoansOrLines,NumberOfTime60-89DaysPastDueNotWorse,NumberOfDependents\n" +
		"1,1,0.766126609,45,2,0.802982129,9120,13,0,6,0,2\n8,0,0.754463648,39,0,0.209940017,,8,0,0,0,\n"
	if n != 2 || out.String() != want {
		t.Errorf("%d rows:\n%s", n, out.String())
	}
}

// TestBadCreditRowsAreNamed by line, column and cell; the competition's test file has no labels.
func TestBadCreditRowsAreNamed(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{creditHead, "there are no rows"},
		{"a,b\n1,2\n", `line 1: the head is "a,b", want a row number and SeriousDlqin2yrs`},
		{creditHead + "1,NA,1,2,3,4,5,6,7,8,9,10\n",
			`line 2: column SeriousDlqin2yrs: it holds "NA", want 0 or 1: is this the training file?`},
		{creditHead + "1,1,1,2,3,4,x,6,7,8,9,10\n", `line 2: column MonthlyIncome: it holds "x", want a finite number or NA`},
		{creditHead + "one,1,1,2,3,4,5,6,7,8,9,10\n", `line 2: the row number is "one", want a whole number from 1`},
		{creditHead + "1,1,1\n", "line 2: it has 3 cells, want 12"},
	} {
		path := put(t, t.TempDir(), "cs-training.csv", c.text)
		_, err := CopyCredit(&bytes.Buffer{}, path, 9)
		wantError(t, err, path+": "+c.want)
	}
}

func FuzzCopyLIBSVM(f *testing.F) {
	f.Add([]byte("+1 1:0.5 3:-1\n-1 2:1\n+1\n"), 2, 3)
	f.Add([]byte("nan 1:1\n"), 1, 1)
	f.Fuzz(func(t *testing.T, content []byte, rows, columns int) {
		var out, again bytes.Buffer
		n, err := copyLIBSVM(&out, bytes.NewReader(content), rows, columns)
		if err != nil {
			return
		}
		if n < 1 || n > rows || bytes.Count(out.Bytes(), []byte("\n")) != n {
			t.Fatalf("%d rows of at most %d", n, rows)
		}
		if _, err := copyLIBSVM(&again, bytes.NewReader(out.Bytes()), rows, columns); err != nil ||
			!bytes.Equal(out.Bytes(), again.Bytes()) {
			t.Fatalf("a copy's copy is another: %v", err)
		}
	})
}
