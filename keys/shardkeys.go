package keys

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ShardKeys are the keys by which workers of some shards of one job are let in at their node:
//
//	# hanse workers' keys: keep them secret
//	# of job credit, of bank
//	format = "hanse-worker-keys-v1"
//	contract = "4b699057…"
//	expires = "2026-11-20T12:00:00Z"
//	0 = "HANSE-SECRET-KEY-1…"
//	1 = "HANSE-SECRET-KEY-1…"
//
// A shard's key stands on a line of its own, so that a shell can leave one of them alone in the file.
//
// Evolution: the format says what the lines mean; a line that a reader does not know is refused.
type ShardKeys struct {
	Note     string              // of whom they are, for people: one line
	Contract Hash                // of the job
	Expires  time.Time           // when the node lets none of them in any more: whole seconds
	Keys     map[int]*PrivateKey // by shard
}

const (
	shardKeysFormat = "hanse-worker-keys-v1"
	shardKeysTitle  = "# hanse workers' keys: keep them secret\n"
	maxShardKeys    = 512 << 10 // bytes of a file
	maxShardNumber  = 1 << 20
)

// Text writes the file.
func (s *ShardKeys) Text() []byte {
	var b bytes.Buffer
	b.WriteString(shardKeysTitle)
	if s.Note != "" {
		fmt.Fprintf(&b, "# %s\n", s.Note)
	}
	fmt.Fprintf(&b, "format = %q\ncontract = %q\nexpires = %q\n", shardKeysFormat, s.Contract, stamp(s.Expires))
	for _, shard := range slices.Sorted(maps.Keys(s.Keys)) {
		fmt.Fprintf(&b, "%d = %q\n", shard, s.Keys[shard].secretText())
	}
	return b.Bytes()
}

// ParseShardKeys reads what Text wrote. No error quotes a secret.
func ParseShardKeys(text []byte) (*ShardKeys, error) {
	if len(text) > maxShardKeys {
		return nil, fmt.Errorf("more than %d bytes: this is no file of workers' keys", maxShardKeys)
	}
	s := &ShardKeys{Keys: make(map[int]*PrivateKey)}
	format, line := "", 0
	for raw := range bytes.Lines(text) {
		line++
		l := string(bytes.TrimSpace(raw))
		if l == "" || l[0] == '#' {
			continue
		}
		if strings.HasPrefix(l, secretPrefix) {
			return nil, errors.New("this is one key, such as a node's worker.key, and no file of workers' keys: " +
				"hanse worker key makes one for a job")
		}
		name, value, ok := strings.Cut(l, " = ")
		if n := len(value); !ok || n < 2 || value[0] != '"' || value[n-1] != '"' {
			return nil, fmt.Errorf("line %d: want a name, \" = \" and a text in quotes", line)
		}
		if err := s.take(&format, name, value[1:len(value)-1]); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	switch {
	case format == "" || s.Contract.IsZero() || s.Expires.IsZero():
		return nil, errors.New("format, contract or expires is missing: this is no file of workers' keys")
	case len(s.Keys) == 0:
		return nil, errors.New("there is no key in it")
	}
	return s, nil
}

// take takes one line of a file.
func (s *ShardKeys) take(format *string, name, value string) (err error) {
	switch {
	case name == "format" && *format == "":
		if value != shardKeysFormat {
			return fmt.Errorf("the format is not %q", shardKeysFormat)
		}
		*format = value
	case *format == "":
		return errors.New("the format is to stand first")
	case name == "contract" && s.Contract.IsZero():
		return s.Contract.UnmarshalText([]byte(value))
	case name == "expires" && s.Expires.IsZero():
		s.Expires, err = parseStamp(name, value)
		return err
	default:
		shard, err := strconv.Atoi(name)
		if err != nil || shard < 0 || shard > maxShardNumber || strconv.Itoa(shard) != name || s.Keys[shard] != nil {
			return errors.New("neither the number of a shard nor contract or expires, or it stands there twice")
		}
		if s.Keys[shard], err = parseSecret(value); err != nil {
			return err
		}
	}
	return nil
}

// LoadShardKeys reads a file of workers' keys, which others cannot open.
func LoadShardKeys(path string) (*ShardKeys, error) {
	text, err := readSecret(path, maxShardKeys)
	if err != nil {
		return nil, fmt.Errorf("file of workers' keys %q: %w", path, err)
	}
	defer clear(text)
	s, err := ParseShardKeys(text)
	if err != nil {
		return nil, fmt.Errorf("file of workers' keys %q: %w", path, err)
	}
	return s, nil
}

// CreateShardKeys writes a new file that only its owner can read, and returns when it is safely on the disk. A file
// that exists is never overwritten.
func CreateShardKeys(path string, s *ShardKeys) error {
	text := s.Text()
	defer clear(text)
	switch err := writeNew(path, text); {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("file of workers' keys %q: %w, and keys are never overwritten: choose another name or move it away",
			path, fs.ErrExist)
	case err != nil:
		return fmt.Errorf("file of workers' keys %q: %w", path, bare(err))
	}
	return nil
}

// readSecret returns the text, of at most so many bytes, of a file that others cannot open.
func readSecret(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, bare(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, bare(err)
	}
	if info.IsDir() {
		return nil, errors.New("it is a directory")
	}
	if err := CheckSecret(path, info); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, bare(err)
	}
	return text, nil
}
