package sets

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// CopyLIBSVM writes at most so many rows of a LIBSVM file, packed or not, to w as they are, and returns how many
// it wrote. It never holds more than a line, so that files larger than the memory can be cut to size. Rows are
// checked: a label, then index:value with indices that increase from 1 to columns, all numbers finite.
func CopyLIBSVM(w io.Writer, path string, rows, columns int) (written int, err error) {
	err = Read(path, func(r io.Reader) error {
		written, err = copyLIBSVM(w, r, rows, columns)
		return err
	})
	return written, err
}

// copyLIBSVM is CopyLIBSVM for an open file.
func copyLIBSVM(w io.Writer, r io.Reader, rows, columns int) (written int, err error) {
	if rows < 1 || columns < 1 {
		return 0, fmt.Errorf("%d rows of %d columns are asked for, want at least 1", rows, columns)
	}
	out := bufio.NewWriter(w)
	err = eachLine(r, func(_ int, line string) error {
		if err := checkSVMRow(line, columns); err != nil {
			return err
		}
		out.WriteString(line)
		out.WriteByte('\n')
		if written++; written == rows {
			return errEnough
		}
		return nil
	})
	if err != nil {
		return written, err
	}
	if written == 0 {
		return 0, errors.New("there are no rows, want LIBSVM text: a label and index:value pairs")
	}
	return written, out.Flush()
}

// checkSVMRow checks a row of LIBSVM text.
func checkSVMRow(line string, columns int) error {
	words := strings.Fields(line)
	if _, err := number(words[0]); err != nil {
		return fmt.Errorf("the label: %w", err)
	}
	last := 0
	for _, word := range words[1:] {
		left, right, ok := strings.Cut(word, ":")
		index, err := strconv.Atoi(left)
		if !ok || err != nil {
			return fmt.Errorf("%.40q is not of the form index:value", word)
		}
		if index <= last || index > columns {
			return fmt.Errorf("index %d comes after %d, want indices that increase up to %d", index, last, columns)
		}
		if _, err := number(right); err != nil {
			return fmt.Errorf("column %d: %w", index, err)
		}
		last = index
	}
	return nil
}

// CreditLabel is the label's column of givemecredit.
const CreditLabel = "SeriousDlqin2yrs"

// creditColumns are the columns of givemecredit's training file after its row number.
func creditColumns() []string {
	return []string{CreditLabel, "RevolvingUtilizationOfUnsecuredLines", "age",
		"NumberOfTime30-59DaysPastDueNotWorse",
		"DebtRatio", "MonthlyIncome", "NumberOfOpenCreditLinesAndLoans", "NumberOfTimes90DaysLate",
		"NumberRealEstateLoansOrLines", "NumberOfTime60-89DaysPastDueNotWorse", "NumberOfDependents"}
}

// CopyCredit writes at most so many rows of givemecredit's training file to w as a table that the program reads,
// and returns how many it wrote: the row number, which has no name in the file, is called id, and NA becomes an
// empty cell. Labels are 0 or 1, all other cells finite numbers or NA.
func CopyCredit(w io.Writer, path string, rows int) (written int, err error) {
	err = Read(path, func(r io.Reader) error {
		written, err = copyCredit(w, r, rows)
		return err
	})
	return written, err
}

// copyCredit is CopyCredit for an open file.
func copyCredit(w io.Writer, r io.Reader, rows int) (written int, err error) {
	if rows < 1 {
		return 0, fmt.Errorf("%d rows are asked for, want at least 1", rows)
	}
	out, columns, headed := bufio.NewWriter(w), creditColumns(), false
	err = eachLine(r, func(_ int, line string) error {
		cells := unquoted(strings.Split(line, ","))
		if !headed {
			headed = true
			if len(cells) != len(columns)+1 || !slices.Equal(cells[1:], columns) {
				return fmt.Errorf("the head is %.80q, want a row number and %s", line, strings.Join(columns, ", "))
			}
			cells[0] = "id"
		} else if err := cleanCredit(cells, columns); err != nil {
			return err
		} else {
			written++
		}
		out.WriteString(strings.Join(cells, ","))
		out.WriteByte('\n')
		if written == rows {
			return errEnough
		}
		return nil
	})
	if err != nil {
		return written, err
	}
	if written == 0 {
		return 0, fmt.Errorf("there are no rows, want a head and rows of %d cells", len(columns)+1)
	}
	return written, out.Flush()
}

// cleanCredit checks a row and empties its cells that hold NA.
func cleanCredit(cells, columns []string) error {
	if len(cells) != len(columns)+1 {
		return fmt.Errorf("it has %d cells, want %d", len(cells), len(columns)+1)
	}
	if id, err := strconv.Atoi(cells[0]); err != nil || id < 1 {
		return fmt.Errorf("the row number is %.40q, want a whole number from 1", cells[0])
	}
	if cells[1] != "0" && cells[1] != "1" {
		return fmt.Errorf("column %s: it holds %.40q, want 0 or 1: is this the training file?", columns[0], cells[1])
	}
	for i, name := range columns[1:] {
		if cells[i+2] == "NA" || cells[i+2] == "" {
			cells[i+2] = ""
			continue
		}
		if _, err := number(cells[i+2]); err != nil {
			return fmt.Errorf("column %s: %w or NA", name, err)
		}
	}
	return nil
}
