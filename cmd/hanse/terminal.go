package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"
)

// errNobody says that a question has nobody to answer it.
var errNobody = errors.New("there is no terminal to ask on")

// terminal returns the terminal that a person answers on.
func terminal(c *cli.Context) (*os.File, bool) {
	f, ok := c.App.Reader.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// agree asks a question that is to be answered by yes or no, no being the default.
func agree(c *cli.Context, question string) (bool, error) {
	in, ok := terminal(c)
	if !ok {
		return false, errNobody
	}
	fmt.Fprintf(c.App.ErrWriter, "%s [y/N] ", question)
	answer, err := await(c.Context, func() ([]byte, error) { return readLine(in) })
	if err != nil {
		return false, err
	}
	word := strings.ToLower(strings.TrimSpace(string(answer)))
	return word == "y" || word == "yes", nil
}

// askSecret asks for a line that the terminal does not show.
func askSecret(c *cli.Context, question string) ([]byte, error) {
	in, ok := terminal(c)
	if !ok {
		return nil, errNobody
	}
	shown, err := term.GetState(int(in.Fd()))
	if err != nil {
		return nil, err
	}
	fmt.Fprint(c.App.ErrWriter, question)
	secret, err := await(c.Context, func() ([]byte, error) { return term.ReadPassword(int(in.Fd())) })
	fmt.Fprintln(c.App.ErrWriter)
	if err != nil {
		term.Restore(int(in.Fd()), shown) // an interrupt leaves the terminal without echo otherwise
		return nil, err
	}
	return secret, nil
}

// await returns what read does, or at once when ctx ends. A read from a terminal cannot be broken
// off: after an interrupt it ends with the program, which is about to end.
func await(ctx context.Context, read func() ([]byte, error)) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := read()
		done <- result{data, err}
	}()
	select {
	case r := <-done:
		return r.data, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// maxLine is the longest answer, in bytes.
const maxLine = 1 << 10

// readLine reads up to the end of a line and nothing beyond it.
func readLine(r io.Reader) ([]byte, error) {
	var line []byte
	for b := make([]byte, 1); len(line) < maxLine; {
		n, err := r.Read(b)
		if n == 1 && b[0] == '\n' {
			break
		}
		line = append(line, b[:n]...)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return bytes.TrimSuffix(line, []byte("\r")), nil
}
