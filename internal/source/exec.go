package source

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

const (
	kept      = 500             // bytes of the end of standard error that an error quotes
	afterword = 2 * time.Second // how long a killed command's pipes may stay open
)

// output is what a command writes to standard output. Its end is the command's: one that fails is an error there.
type output struct {
	ctx    context.Context
	cancel context.CancelFunc
	cmd    *exec.Cmd
	pipe   io.Reader
	stderr tail
	ended  bool
	err    error
}

// openCommand starts a command and reads what it writes, text or a Parquet file.
func openCommand(ctx context.Context, l Location, lim Limits) (*Source, error) {
	if err := findProgram(l.command[0]); err != nil {
		return nil, err
	}
	o := &output{}
	o.ctx, o.cancel = context.WithCancel(ctx)
	o.cmd = exec.CommandContext(o.ctx, l.command[0], l.command[1:]...)
	o.cmd.Stderr, o.cmd.WaitDelay = &o.stderr, afterword
	o.cmd.Env = slices.DeleteFunc(os.Environ(), isOwn)
	withChildren(o.cmd)
	var err error
	if o.pipe, err = o.cmd.StdoutPipe(); err == nil {
		err = o.cmd.Start()
	}
	if err != nil {
		o.cancel()
		return nil, err
	}
	text := bufio.NewReader(o)
	magic, err := text.Peek(len(parquetMagic))
	if err != nil && err != io.EOF {
		return nil, errors.Join(err, o.close())
	}
	if string(magic) != parquetMagic {
		return &Source{Text: text, close: o.close}, nil
	}
	return openSpool(text, o, lim)
}

// ownVariables begins the names of the program's own variables of the environment, of which one is a passphrase.
const ownVariables = "HANSE_"

// isOwn reports whether a variable of the environment, NAME=VALUE, is the program's own: no command has it.
func isOwn(variable string) bool {
	return len(variable) >= len(ownVariables) && strings.EqualFold(variable[:len(ownVariables)], ownVariables)
}

// openSpool keeps a Parquet file, whose index is at its end, in a file of its own until it is read.
func openSpool(r io.Reader, o *output, lim Limits) (s *Source, err error) {
	f, err := os.CreateTemp("", "hanse-*.parquet")
	if err != nil {
		return nil, errors.Join(err, o.close())
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	n, err := io.Copy(f, io.LimitReader(r, lim.Bytes+1))
	if err == nil && n > lim.Bytes {
		err = fmt.Errorf("the command writes more than %d bytes, the limit", lim.Bytes)
	}
	if err = errors.Join(err, o.close()); err != nil {
		return nil, err
	}
	s, err = openParts([]string{f.Name()}, lim)
	if err != nil {
		return nil, err
	}
	closeParts := s.close
	s.close = func() error { return errors.Join(closeParts(), f.Close(), os.Remove(f.Name())) }
	return s, nil
}

// Read implements io.Reader.
func (o *output) Read(p []byte) (int, error) {
	if o.ended {
		return 0, cmp.Or(o.err, io.EOF)
	}
	n, err := o.pipe.Read(p)
	if err == nil {
		return n, nil
	}
	if failed := o.wait(); failed != nil {
		err = failed
	}
	if o.err = because(o.ctx, err); o.err == io.EOF {
		o.err = nil
	}
	return n, cmp.Or(o.err, io.EOF)
}

// wait returns what is wrong with how the command ended.
func (o *output) wait() error {
	if o.ended {
		return o.err
	}
	o.ended = true
	err := o.cmd.Wait()
	var status *exec.ExitError
	switch {
	case errors.As(err, &status):
		o.err = fmt.Errorf("the command failed: %v; it says: %s", status, &o.stderr)
	case err != nil:
		o.err = fmt.Errorf("the command failed: %w", err)
	}
	return o.err
}

// close ends the command, if it has not ended.
func (o *output) close() error {
	o.cancel()
	o.wait()
	return nil
}

// tail keeps the end of what is written to it.
type tail struct{ end []byte }

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.end = append(t.end, p[max(0, len(p)-kept):]...)
	t.end = t.end[max(0, len(t.end)-kept):]
	return len(p), nil
}

// String returns it as one line of printable text.
func (t *tail) String() string {
	text := strings.Join(strings.FieldsFunc(strings.ToValidUTF8(string(t.end), "?"), func(r rune) bool {
		return r <= ' ' || r == 0x7f
	}), " ")
	if text == "" {
		return "nothing"
	}
	return text
}
