package sets

import (
	"bufio"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
)

const (
	maxBytes = 32 << 30 // of a file, unpacked: epsilon has 12 GB
	maxLine  = 1 << 20  // bytes of a line: real-sim and epsilon have some 40,000
)

// Read opens a file, packed or not by the end of its name, and hands it to do. Its errors name the file.
func Read(path string, do func(io.Reader) error) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil && e != nil {
			err = e
		}
	}()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(fmt.Errorf("%s: this is not a regular file", path), err)
	}
	var r io.Reader = f
	switch {
	case strings.HasSuffix(path, ".gz"):
		z, err := gzip.NewReader(f)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		r = z
	case strings.HasSuffix(path, ".bz2"):
		r = bzip2.NewReader(f)
	}
	if err := do(io.LimitReader(r, maxBytes)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// errEnough ends a reading before the file does.
var errEnough = errors.New("enough")

// eachLine calls do for every line that is not blank, with its number from 1, until the file ends or do returns
// errEnough. Errors name the line.
func eachLine(r io.Reader, do func(number int, line string) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	number := 0
	for lines.Scan() {
		number++
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		if err := do(number, line); err != nil {
			if errors.Is(err, errEnough) {
				return nil
			}
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("line %d has more than %d bytes, the limit", number+1, maxLine)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("line %d: %w", number+1, err)
	}
	return nil
}

// number reads a finite number.
func number(cell string) (float64, error) {
	v, err := strconv.ParseFloat(cell, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("it holds %.40q, want a finite number", cell)
	}
	return v, nil
}
