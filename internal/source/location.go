package source

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/keys"
)

// folderDomain separates the sum of a folder's parts from every other hash; it never changes.
const folderDomain = "hanse/source/folder/v1"

// kind is what a location names.
type kind int

const (
	files      kind = iota // a file, or a folder of Parquet parts
	postgres               // a query of a PostgreSQL database
	sqliteFile             // a query of an SQLite database
	command                // what a command writes
)

// Location says where a table comes from. It holds no password.
type Location struct {
	kind    kind
	path    string   // of files and SQLite
	server  string   // of PostgreSQL: the address, without the query
	query   string   // of PostgreSQL and SQLite
	asked   string   // the file that the query is in, if it is in one
	command []string // its words
	given   string   // as it was given
}

// Parse reads a location:
//
//	FILE or FOLDER                                   CSV, LIBSVM or Parquet; a folder of Parquet parts
//	postgres://[USER@]HOST[:PORT]/DATABASE?query=…   also postgresql://, and parameters of libpq beside query
//	sqlite:FILE?query=…
//	exec:COMMAND ARGUMENT…                           quotes, '…' or "…", hold an argument with blanks together
//
// A query is one SELECT, in which % stands as %25 and & as %26, or @FILE that holds it as it is. An error quotes
// nothing of the location but a file's name.
func Parse(s string) (Location, error) {
	l := Location{given: s}
	scheme, _, remote := strings.Cut(s, "://")
	switch {
	case remote && (scheme == "postgres" || scheme == "postgresql"):
		l.kind = postgres
		return l, l.parsePostgres(s)
	case strings.HasPrefix(s, "sqlite:"):
		l.kind = sqliteFile
		path, params, _ := strings.Cut(strings.TrimPrefix(s, "sqlite:"), "?")
		if l.path = path; path == "" {
			return l, errors.New("sqlite: names no file; want sqlite:FILE?query=SELECT …")
		}
		rest, err := l.takeQuery(params)
		if err == nil && len(rest) > 0 {
			err = errors.New("sqlite: has another parameter than query; write & inside a query as %26, or put the query " +
				"into a file: query=@FILE")
		}
		return l, err
	case strings.HasPrefix(s, "exec:"):
		l.kind = command
		words, err := splitWords(strings.TrimPrefix(s, "exec:"))
		if err == nil && len(words) == 0 {
			err = errors.New("exec: names no command; want exec:COMMAND and its arguments")
		}
		l.command = words
		return l, err
	case remote && (scheme == "http" || scheme == "https" || scheme == "ftp" || scheme == "s3"):
		return l, fmt.Errorf("%s is an address on a network, from where no table is fetched: download it and give the file, "+
			"or let a program do so: exec:COMMAND", quote(s))
	case remote && !strings.ContainsAny(scheme, "/."):
		return l, fmt.Errorf("there is no source of the kind %s; want a file, a folder of Parquet parts, postgres://, "+
			"sqlite: or exec:, by which any program's output is a table", quote(scheme))
	case s == "":
		return l, errors.New("the location is empty; want a file, a folder, postgres://, sqlite: or exec:COMMAND")
	}
	l.path = s
	return l, nil
}

// IsFile reports whether a location is a file or folder, whose Sum says whether it is still the same.
func (l Location) IsFile() bool { return l.kind == files }

// Name returns the file's or folder's name, which may say what it holds; empty for others.
func (l Location) Name() string {
	if l.kind == files {
		return l.path
	}
	return ""
}

// String names the location in messages: neither its query nor the arguments of a command, which may hold secrets.
func (l Location) String() string {
	switch l.kind {
	case postgres:
		u, err := url.Parse(l.server)
		if err != nil {
			return "postgres"
		}
		return (&url.URL{Scheme: "postgres", Host: u.Host, Path: u.Path}).String()
	case sqliteFile:
		return "sqlite:" + l.path
	case command:
		return "exec:" + l.command[0]
	}
	return l.path
}

// Absolute returns the location for a program with another working folder. Files that a command names are its own.
func (l Location) Absolute() (string, error) {
	s := l.given
	for _, path := range []string{l.path, l.asked} {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return "", err
		}
		if path != "" && path == l.asked {
			s = strings.Replace(s, "query=@"+path, "query=@"+absolute, 1)
		} else if path != "" {
			s = strings.Replace(s, path, absolute, 1)
		}
	}
	return s, nil
}

// Check looks whether what the location names on this machine is there. It runs and asks nothing. What a folder with
// something in it holds is for the job to say that reads it: parts of a table, or networks.
func (l Location) Check() error {
	switch l.kind {
	case postgres:
		return nil
	case command:
		return findProgram(l.command[0])
	case files:
		if inside, err := os.ReadDir(l.path); err == nil && len(inside) > 0 {
			return nil
		}
		_, err := l.parts()
		return err
	}
	_, err := os.Stat(l.path)
	return withoutPath(err)
}

// findProgram says whether a program is there.
func findProgram(name string) error {
	_, err := exec.LookPath(name)
	if bad := (*exec.Error)(nil); errors.As(err, &bad) && errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("there is no program %s: name one that is in $PATH, or its whole path", quote(name))
	} else if bad != nil {
		return fmt.Errorf("the program %s: %w", quote(name), withoutPath(bad.Err))
	}
	return err
}

// Sum returns the SHA-256 of a file's bytes, or of a folder's parts: while it is the same, so is the table. It is zero
// of what must be asked anew.
func (l Location) Sum() (sum keys.Hash, err error) {
	if l.kind != files {
		return sum, nil
	}
	parts, err := l.parts()
	if err != nil {
		return sum, err
	}
	if parts == nil {
		return fileSum(l.path)
	}
	var sums [][]byte
	for _, part := range parts {
		s, err := fileSum(part)
		if err != nil {
			return sum, err
		}
		sums = append(sums, []byte(filepath.Base(part)), s[:])
	}
	return keys.HashOf(folderDomain, sums...), nil
}

// fileSum returns the SHA-256 of a file's bytes.
func fileSum(path string) (sum keys.Hash, err error) {
	f, err := os.Open(path)
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return sum, err // which names the file
	}
	return keys.Hash(h.Sum(nil)), nil
}

// parts returns the Parquet files of a folder, sorted; none where the path is a file that can be read again.
func (l Location) parts() ([]string, error) {
	info, err := os.Stat(l.path)
	if path, option, found := strings.Cut(l.path, "?"); err != nil && found {
		if _, without := os.Stat(path); without == nil {
			key, _, _ := strings.Cut(option, "=")
			return nil, fmt.Errorf("what stands behind the question mark, %s, is no option of a table: docs/tables.md lists "+
				"them", quote(key))
		}
	}
	if err != nil {
		return nil, withoutPath(err)
	}
	if info.Mode().IsRegular() {
		return nil, nil
	}
	if !info.IsDir() {
		return nil, errors.New("this is not a regular file; a job must be able to read it again")
	}
	entries, err := os.ReadDir(l.path)
	if err != nil {
		return nil, withoutPath(err)
	}
	var parts []string
	for _, e := range entries {
		name := e.Name()
		switch {
		case strings.HasPrefix(name, "_"), strings.HasPrefix(name, "."): // notes of the program that wrote the parts
		case e.IsDir():
			return nil, fmt.Errorf("this folder has a folder %s; want Parquet files side by side, without partitions",
				quote(name))
		case strings.EqualFold(filepath.Ext(name), ".parquet"):
			parts = append(parts, filepath.Join(l.path, name))
		}
	}
	if len(parts) == 0 {
		return nil, errors.New("this is a folder without Parquet files; name a file, or a folder of *.parquet")
	}
	return parts, nil
}

// withoutPath returns what an error says of a file, less the file's name.
func withoutPath(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// passwords are parameters of libpq that hold one.
var passwords = []string{"password", "sslpassword"}

// connectionKeys are the parameters that a location may have beside its query.
var connectionKeys = []string{
	"host", "port", "user", "dbname", "database", "service", "servicefile", "passfile", "connect_timeout",
	"sslmode", "sslrootcert", "sslcert", "sslkey", "sslnegotiation", "channel_binding", "target_session_attrs",
	"application_name",
}

// parsePostgres takes the query out of an address and refuses a password.
func (l *Location) parsePostgres(s string) error {
	address, params, _ := strings.Cut(s, "?")
	// A password may hold any sign, so what stands before the query is looked through as a whole.
	head, _, _ := strings.Cut(s, "query=")
	_, head, _ = strings.Cut(head, "://")
	if at := strings.LastIndex(head, "@"); at >= 0 && strings.Contains(head[:at], ":") {
		return errPassword
	}
	u, err := url.Parse(address)
	if err != nil || u.Fragment != "" {
		return errors.New("the address does not read as postgres://[USER@]HOST[:PORT]/DATABASE?query=SELECT …")
	}
	if _, has := u.User.Password(); has {
		return errPassword
	}
	rest, err := l.takeQuery(params)
	if err != nil {
		return err
	}
	for _, p := range rest {
		key, _, _ := strings.Cut(p, "=")
		if slices.Contains(passwords, strings.ToLower(key)) {
			return errPassword
		}
		if !slices.Contains(connectionKeys, key) {
			return fmt.Errorf("postgres:// has a parameter that is none of query, %s; write & inside a query as %%26, or put "+
				"the query into a file: query=@FILE", strings.Join(connectionKeys, ", "))
		}
	}
	if l.server = address; len(rest) > 0 {
		l.server += "?" + strings.Join(rest, "&")
	}
	return nil
}

// errPassword refuses a password that every user of the machine can read in the list of processes.
var errPassword = errors.New("the address holds a password, which others can read in the list of processes; take it " +
	"out, and put it into PGPASSWORD or into the file that PGPASSFILE names (~/.pgpass)")

// takeQuery takes the query out of parameters and returns the others as they stand.
func (l *Location) takeQuery(params string) (rest []string, err error) {
	for p := range strings.SplitSeq(params, "&") {
		value, is := strings.CutPrefix(p, "query=")
		switch {
		case p == "":
		case !is:
			rest = append(rest, p)
		case l.query != "":
			return nil, errors.New("the location has two queries")
		default:
			// A plus is a plus in SQL.
			if l.query, err = url.PathUnescape(value); err != nil {
				return nil, errors.New("the query has a % that does not begin an escape; write it as %25, or put the query " +
					"into a file: query=@FILE")
			}
		}
	}
	if path, is := strings.CutPrefix(l.query, "@"); is {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		l.query, l.asked = string(text), path
	}
	if l.query = strings.TrimSpace(l.query); l.query == "" {
		return nil, errors.New("the location has no query; end it with ?query=SELECT …, or ?query=@FILE")
	}
	return rest, nil
}

// splitWords splits a command at blanks. Quotes of either kind hold a word together and mean nothing else.
func splitWords(s string) (words []string, err error) {
	var word strings.Builder
	var quote rune
	begun := false
	for _, r := range s {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, begun = r, true
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 {
		return nil, errors.New("exec: a quote lacks its partner")
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}
