package dataset

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

func TestBadCSV(t *testing.T) {
	for _, tc := range []struct {
		name, content string
		o             Options
		want          string
	}{
		{"empty", "", Options{}, `the file is empty`},
		{"only blank lines", "\n\r\n\n", Options{}, `the file is empty`},
		{"only a mark", "\ufeff", Options{}, `the file is empty`},
		{"header only", "id,age\n", Options{}, `the file has a header but no rows`},
		{"UTF-16", "\xff\xfei\x00d\x00", Options{}, `the file is UTF-16, as Excel's Unicode text is; save it as CSV in UTF-8, or convert it: iconv -f UTF-16 -t UTF-8 OLD > NEW`},
		{"no header", "P1,34,north\nP2,35,south\n", Options{}, `line 1: column 2 is called "34", and none is called "id": if line 1 is data, write a line with names above it; else say which column has the ids: put id = "P1" into the table's options, if it is that`},
		{"cell without a name", "id,,age\nx, ,1\ny,7,2\n", Options{}, `row 2 (line 3) has "7" in column 2, which has no name: give it one in line 1`},
		{"name not UTF-8", "id,\xffage\n", Options{}, `line 1: the name of column 2, "\xffage", is not valid UTF-8, and looks like WINDOWS-1252: save the file as UTF-8, or convert it: iconv -f WINDOWS-1252 -t UTF-8 OLD > NEW, with WINDOWS-1250 in Poland, Czechia or Hungary`},
		{"name with a newline", "id,\"a\nb\"\n", Options{}, `line 1: the name of column 2, "a\nb", holds a control character`},
		{"semicolons", "id;age\n1;2\n", Options{}, `line 1 is one column, "id;age": if columns are separated by ";", put delimiter = ";" into the table's options`},
		{"semicolons, and a comma in a name", "id;n;sum, net\n1;7;10,5\n2;8;11,9\n", Options{}, `line 1 and each row have ";" 2 times in what is read as cells, so that it seems to separate the columns: put delimiter = ";" into the table's options, or delimiter = "," if it does not`},
		{"semicolons, and a comma that rows have not", "id;n;sum, net\n1;7;10\n2;8;11,9\n", Options{}, `line 1 and each row have ";" 2 times in what is read as cells, so that it seems to separate the columns: put delimiter = ";" into the table's options, or delimiter = "," if it does not`},
		{"tabs, and a comma in a name", "id\tsum, net\n1\t10,5\n", Options{}, `line 1 has tabs in what is read as names, so that they seem to separate the columns: put delimiter = "tab" into the table's options`},
		{"bars, and a comma in a name", "id|sum, net\n1|10,5\n", Options{}, `line 1 and each row have "|" once in what is read as cells, so that it seems to separate the columns: put delimiter = "|" into the table's options, or delimiter = "," if it does not`},
		{"duplicate column", "id,age,income,age\n", Options{}, `line 1: columns 2 and 4 are both called "age": give one of them another name, or leave both out: put ignore = ["age"] into the table's options`},
		{"no id", "age,paid\n1,2\n", Options{}, `no column is called "id": say which of "age", "paid" has the ids: put id = "age" into the table's options, if it is that`},
		{"two ids", "customer_id,branch_id\n1,2\n", Options{}, `columns "customer_id" and "branch_id" could both be the id: put id = "customer_id" into the table's options, or id = "branch_id"`},
		{"named id absent", "id,age\n1,2\n", Options{ID: "nr"}, `no id column "nr"; the columns are "id", "age"`},
		{"label absent", "id,age\n1,2\n", Options{Label: "default"},
			`no label column "default"; the columns are "id", "age"`},
		{"categorical absent", "id,age\n1,2\n", Options{Categorical: []string{"region"}}, `no categorical column "region"; the columns are "id", "age"`},
		{"ignored absent", "id,age\n1,2\n", Options{Ignore: []string{"name"}},
			`no ignored column "name"; the columns are "id", "age"`},
		{"id as label", "id,age\n1,2\n", Options{Label: "id"}, `column "id" is the id; it cannot be the label, categorical or ignored as well`},
		{"label ignored", "id,y\n1,2\n", Options{Label: "y", Ignore: []string{"y"}},
			`column "y" is both the label and to be ignored`},
		{"unknown imputation", "id,y\n1,2\n", Options{Missing: "zero"}, `unknown way "zero" to treat missing values; want refuse, mean, median, level, or mean,level or median,level`},
		{"ragged, short", "id,age,x\na,1,2\nb,1\n", Options{}, `row 2 (line 3) has 2 cells; the header has 3`},
		{"ragged, long", "id\na,1\n", Options{}, `row 1 (line 2) has 2 cells; the header has 1`},
		{"mix", "id,age\na,34\n\nb,abc\n", Options{}, `row 2 (line 4), column "age": "abc" in 1 row is not a number: mend it, or put na = ["abc"] into the table's options if it says that the value is missing`},
		{"mix, text first", "id,age\na,none\nb,34\n", Options{}, `row 1 (line 2), column "age": "none" in 1 row is not a number: mend it, or put na = ["none"] into the table's options if it says that the value is missing`},
		{"decimal comma", "id,x\na,1\nb,\"3,5\"\n", Options{}, `row 2 (line 3), column "x": "3,5" is not read as a number: its cells are numbers with decimal commas: put decimal = "," into the table's options`},
		{"hexadecimal", "id,x\na,1\nb,0x10\n", Options{}, `row 2 (line 3), column "x": "0x10" in 1 row is not a number: mend it, or put na = ["0x10"] into the table's options if it says that the value is missing`},
		{"NaN", "id,age\na,34\nb,NaN\n", Options{NA: []string{}}, `row 2 (line 3), column "age": "NaN" is not a finite number; leave the cell empty if the value is missing`},
		{"infinity", "id,age\na,-inf\n", Options{}, `row 1 (line 2), column "age": "-inf" is not a finite number; leave the cell empty if the value is missing`},
		{"NaN label", "id,y\na,nan\n", Options{Label: "y", NA: []string{}}, `row 1 (line 2), column "y": "nan" is not a finite number; leave the cell empty if the value is missing`},
		{"too large", "id,age\na,1e400\n", Options{}, `row 1 (line 2), column "age": "1e400" is beyond ±1e100`},
		{"missing number", "id,age\na,1\nb, \nc,\n", Options{Missing: "refuse"}, `row 2 (line 3), column "age": the cell is missing: fill it, or put missing = "level" into the table's options`},
		{"missing text", "id,r\na,\nb,north\n", Options{Missing: "mean"}, `row 1 (line 2), column "r": the cell is missing: fill it, or put missing = "mean,level" into the table's options`},
		{"unknown way with levels", "id,y\n1,2\n", Options{Levels: "guess"}, `unknown way "guess" to treat levels that training never saw; want other or error`},
		{"unknown dates", "id,y\n1,2\n", Options{Dates: "ymd"}, `unknown way "ymd" to read dates; want dmy, mdy or text`},
		{"a column that is wanted and not there", "id,age\na,1\n", Options{Only: []string{"rate"}},
			`no column "rate"; the columns are "id", "age"`},
		{"empty id", "id,age\na,1\n,2\n", Options{}, `row 2 (line 3), column "id": the id is empty`},
		{"id not UTF-8", "id,age\na\xff,1\n", Options{}, `row 1 (line 2), column "id": the id "a\xff" is not valid UTF-8, and looks like WINDOWS-1252: save the file as UTF-8, or convert it: iconv -f WINDOWS-1252 -t UTF-8 OLD > NEW, with WINDOWS-1250 in Poland, Czechia or Hungary`},
		{"text with a control character", "id,r\na,x\x00y\n", Options{}, `row 1 (line 2), column "r": "x\x00y" holds a control character`},
		{"old Mac", "id,age\r1,2\r2,3\r", Options{}, `the file has lines that end in CR alone, as those of old Macs do; save it as CSV in UTF-8, or convert it: tr '\r' '\n'`},
		{"UTF-32", "\xff\xfe\x00\x00i\x00\x00\x00", Options{},
			`the file is UTF-32; save it as CSV in UTF-8, or convert it: iconv -f UTF-32 -t UTF-8 OLD > NEW`},
		{"a name like a format's", "ORCID,FEA1\n1,2\n", Options{ID: "nr"},
			`no id column "nr"; the columns are "ORCID", "FEA1"`},
		{"R", "X\n\x00\x00\x00\x03", Options{}, `the file is one of R; write it with write.csv(x, FILE, row.names = FALSE)`},
		{"SAS", strings.Repeat("\x00", 12) + "\xc2\xea\x81\x60\xb3\x14", Options{},
			`the file is one of SAS; save it as CSV in UTF-8`},
		{"lines in quotes", "\"id;age\"\n\"1;2\"\n", Options{Delimiter: ";"}, `line 1 is one column, "id;age": its ";" stand within quotes: take the quotes off the lines`},
		{"carets", "id^age\n1^2\n", Options{}, `line 1 is one column, "id^age": if it is several, write a comma between them, and in all other lines`},
		{"blanks", "id age x\n1 2 3\n", Options{}, `line 1 is one column, "id age x": if it is several, write a comma between them, and in all other lines`},
		{"apostrophes", "'id','age'\n'1','2'\n", Options{}, `line 1: the names stand between apostrophes, as in "'id'": write none, or " in their place`},
		{"title", "Customers 2019,,\n,,\nid,age,x\n1,2,3\n", Options{}, `no column is called "id": say which of "Customers 2019" has the ids: put id = "Customers 2019" into the table's options, if it is that; if the names stand further below, take the lines above them out`},
		{"duplicate id", "id,age\nb,1\na,2\nb,3\n", Options{}, `row 1 (line 2) and row 3 (line 4) have the same id "b"; a table has one row for each id: make one of theirs, with sums, means or the latest`},
		{"quote inside", "id,age\na,1\"2\n", Options{}, `line 2: a quote stands inside a cell that does not begin with one: write "5"" pipe" for 5" pipe`},
		{"open quote", "id,age\na,\"12\nb,13\n", Options{}, `line 2: a quoted cell does not end as it should: a quote within is written twice, as in "5"" pipe"`},
		{"text behind quote", "id,age\na,\"1\"2\n", Options{}, `line 2: a quoted cell does not end as it should: a quote within is written twice, as in "5"" pipe"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := readString(tc.content, asCSV, tc.o)
			wantError(t, err, tc.want)
		})
	}
}

func TestBadLIBSVM(t *testing.T) {
	for _, tc := range []struct {
		name, content string
		o             Options
		want          string
	}{
		{"empty", "", Options{}, `the file is empty`},
		{"no feature", "1\n-1\n", Options{}, `no row has a feature of the form index:value`},
		{"label", "1 1:1\nyes 1:1\n", Options{}, `row 2 (line 2), column "label": "yes" is not a number`},
		{"NaN label", "nan 1:1\n", Options{}, `row 1 (line 1), column "label": "nan" is not a finite number; leave the cell empty if the value is missing`},
		{"no colon", "1 1:1 22\n", Options{}, `row 1 (line 1): "22" is not of the form index:value`},
		{"index below zero", "1 -1:1\n", Options{}, `row 1 (line 1): index "-1" is not a whole number from 0`},
		{"query id", "1 qid:1 2:1\n", Options{}, `row 1 (line 1): "qid:1" is of a file for ranking, whose rows belong to queries; no algorithm here ranks`},
		{"index too large", "1 4000000000:1\n", Options{}, `row 1 (line 1): index 4000000000 is beyond the limit of 65534 features`},
		{"index beyond int", "1 99999999999999999999:1\n", Options{}, `row 1 (line 1): index "99999999999999999999" is not a whole number from 0`},
		{"twice", "1 3:1 3:1\n", Options{}, `row 1 (line 1): index 3 comes after 3; indices must increase`},
		{"decreasing", "\n1 1:1\n1 3:1 2:1\n", Options{}, `row 2 (line 3): index 2 comes after 3; indices must increase`},
		{"value", "1 3:x\n", Options{}, `row 1 (line 1), column "f3": "x" is not a number`},
		{"no value", "1 3:\n", Options{}, `row 1 (line 1), column "f3": "" is not a number`},
		{"infinite value", "1 3:Inf\n", Options{}, `row 1 (line 1), column "f3": "Inf" is not a finite number; leave the cell empty if the value is missing`},
		{"id option", "1 1:1\n", Options{ID: "id"}, `a LIBSVM file has no id column "id"; its ids are the row numbers`},
		{"label option", "1 1:1\n", Options{Label: "y"}, `a LIBSVM file has no label column "y"; its label column is called "label"`},
		{"categorical option", "1 1:1\n", Options{Categorical: []string{"f1"}}, `a LIBSVM file has numbers only; column "f1" cannot be categorical`},
		{"ignore option", "1 1:1\n", Options{Ignore: []string{"g2"}},
			`no column "g2"; a LIBSVM file has label, f1, f2 and so on`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := readString(tc.content, asLIBSVM, tc.o)
			wantError(t, err, tc.want)
		})
	}
}

func TestLimits(t *testing.T) {
	small := limits{rows: 3, columns: 5, cells: 6, cell: 8, record: 100, levels: 2, text: 1 << 20}
	wide := func(change func(*limits)) limits {
		lim := standardLimits()
		change(&lim)
		return lim
	}
	for _, tc := range []struct {
		name, content string
		as            format
		lim           limits
		o             Options
		want          string
	}{
		{"rows", "id\na\nb\nc\nd\n", asCSV, small, Options{}, `there are more than 3 rows, the limit`},
		{"rows by option", "id\na\nb\nc\n", asCSV, small, Options{MaxRows: 2}, `there are more than 2 rows, the limit`},
		{"rows by a wrong option", "id\na\n", asCSV, small, Options{MaxRows: 4}, `the row limit is 4; it must be between 1 and 3, or 0 for the default`},
		{"columns", "id,a,b,c,d,e\n", asCSV, small, Options{}, `line 1 has 6 columns; the limit is 5`},
		{"cell", "id,a\nx,123456789\n", asCSV, small, Options{}, `row 1 (line 2), column "a": the cell has 9 bytes; the limit is 8`},
		{"name", "id,abcdefghi\n", asCSV, small, Options{}, `line 1: the name of column 2 has 9 bytes; the limit is 8`},
		{"levels", "id,a\nx,p\ny,q\nz,r\n", asCSV, small, Options{}, `column "a" has more than 2 different texts: group its values, or ignore the column: put ignore = ["a"] into the table's options`},
		{"cells", "id,a,b\nx,1,2\ny,1,2\nz,1,2\n", asCSV, wide(func(l *limits) { l.cells = 4 }), Options{}, `row 3 (line 4): the table is too large: the limit is 4 cells`},
		{"LIBSVM rows", "1 1:1\n1 1:1\n1 1:1\n1 1:1\n", asLIBSVM, small, Options{}, `there are more than 3 rows, the limit`},
		{"LIBSVM columns", "1 4:1\n", asLIBSVM, small, Options{},
			`row 1 (line 1): index 4 is beyond the limit of 3 features`},
		{"LIBSVM cells", "1 1:1\n1 3:1\n", asLIBSVM, small, Options{}, `row 2 (line 2): the table is too large: 4 columns up to here, and the limit is 6 cells`},
		{"open quote without end", "id,a\nx,1\ny,\"" + strings.Repeat("z", 3*bufferSize), asCSV, small, Options{}, `the row after row 1 is too long; does a quote lack its partner?`},
		{"LIBSVM line", "1 1:1\n1 1:" + strings.Repeat("0", 3*bufferSize), asLIBSVM, small, Options{}, `the row after row 1 is too long; does a quote lack its partner?`},
		{"blank lines without end", "id,a\n" + strings.Repeat("\n", 3*bufferSize), asCSV, small, Options{}, `the header or the first row is too long; does a quote lack its partner?`},
		{"text", "id,a\n" + strings.Repeat("x,1\n", bufferSize), asCSV, wide(func(l *limits) { l.text = bufferSize }),
			Options{}, `the text is too long: the limit is reached after row 16382`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := parse(strings.NewReader(tc.content), tc.as, tc.o, tc.lim)
			wantError(t, err, tc.want)
		})
	}
}

func TestDamagedGzip(t *testing.T) {
	whole := gzipped(t, insurer)
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-6] ^= 1 // within the checksum
	for _, tc := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"cut", whole[:len(whole)-8], `the gzip stream breaks off after row 3; copy the file again`},
		{"cut in its header", whole[:5], `the gzip stream breaks off after row 0; copy the file again`},
		{"checksum", flipped, `the gzip stream is damaged after row 3; copy the file again`},
		{"not a header", []byte{0x1f, 0x8b, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9}, `the gzip stream is damaged after row 0; copy the file again`},
		{"text behind it", append(bytes.Clone(whole), "more rows in plain text"...), `the gzip stream is damaged after row 3; copy the file again`},
		{"of nothing", gzipped(t, ""), `the file is empty`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := parse(bytes.NewReader(tc.content), asCSV, Options{}, standardLimits())
			wantError(t, err, tc.want)
		})
	}
}

func TestReadNamesThePath(t *testing.T) {
	path := writeFile(t, "insurer.csv", []byte("id,age\na,34\nb,abc\n"))
	_, err := Read(path, Options{})
	wantError(t, err, path+`: row 2 (line 3), column "age": "abc" in 1 row is not a number: mend it, or put na = ["abc"] into the table's options if it says that the value is missing`)

	absent := filepath.Join(t.TempDir(), "gone.csv")
	_, err = Read(absent, Options{})
	wantError(t, err, absent+": no such file or directory")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v is not fs.ErrNotExist", err)
	}

	dir := t.TempDir()
	_, err = Read(dir, Options{})
	wantError(t, err, dir+": this is a folder without Parquet files; name a file, or a folder of *.parquet")
}
