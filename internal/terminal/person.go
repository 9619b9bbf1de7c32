package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// ErrNobody says that a question has nobody to answer it.
var ErrNobody = errors.New("there is no terminal to ask on")

// Person is who sits before a terminal: answers come from In, questions go to Out.
type Person struct {
	In  io.Reader
	Out io.Writer
}

// Terminal returns the terminal that the person answers on, if there is one.
func (p Person) Terminal() (*os.File, bool) {
	f, ok := p.In.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// Agree asks a question that is to be answered by yes or no, no being the default.
func (p Person) Agree(ctx context.Context, question string) (bool, error) {
	answer, err := p.Line(ctx, question+" [y/N] ")
	word := strings.ToLower(answer)
	return word == "y" || word == "yes", err
}

// Line asks for a line.
func (p Person) Line(ctx context.Context, question string) (string, error) {
	if _, ok := p.Terminal(); !ok {
		return "", ErrNobody
	}
	fmt.Fprint(p.Out, question)
	answer, err := await(ctx, func() ([]byte, error) { return readLine(p.In) })
	return strings.TrimSpace(string(answer)), err
}

// Secret asks for a line that the terminal does not show.
func (p Person) Secret(ctx context.Context, question string) ([]byte, error) {
	in, ok := p.Terminal()
	if !ok {
		return nil, ErrNobody
	}
	shown, err := term.GetState(int(in.Fd()))
	if err != nil {
		return nil, err
	}
	fmt.Fprint(p.Out, question)
	secret, err := await(ctx, func() ([]byte, error) { return term.ReadPassword(int(in.Fd())) })
	fmt.Fprintln(p.Out)
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
