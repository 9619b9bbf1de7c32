// Package pgtest starts a PostgreSQL server for tests, where one is installed.
package pgtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hanse-project/hanse/internal/testnet/needs"
)

// Password is what the user hanse gives over TCP; on the socket it needs none.
const Password = "correct horse battery staple"

// Server is a PostgreSQL server with an empty database postgres, owned by user hanse.
type Server struct {
	Socket string // folder of its socket
	Port   string
	bin    string
	as     *syscall.SysProcAttr
}

// Start starts a server that stops with the test. It skips the test where PostgreSQL is not installed, as by
// apt-get install postgresql.
func Start(t testing.TB) *Server {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // where Debian has it
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		needs.Missing(t, "PostgreSQL is not installed: apt-get install postgresql")
	}
	s := &Server{bin: filepath.Dir(found[len(found)-1])}
	dir, err := os.MkdirTemp("", "hanse-pg-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if os.Getuid() == 0 { // the server refuses to run as root
		s.as = &syscall.SysProcAttr{Credential: someUser(t)}
		if err := os.Chown(dir, int(s.as.Credential.Uid), int(s.as.Credential.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Socket, s.Port = dir, strconv.Itoa(free.Addr().(*net.TCPAddr).Port)
	free.Close()
	secret, data := filepath.Join(dir, "secret"), filepath.Join(dir, "data")
	if err := os.WriteFile(secret, []byte(Password), 0o644); err != nil {
		t.Fatal(err)
	}
	s.run(t, "initdb", "-D", data, "-U", "hanse", "--pwfile", secret, "--auth-local=trust", "--auth-host=scram-sha-256",
		"--no-sync", "-E", "UTF8", "--locale=C")
	options := fmt.Sprintf("-k %s -p %s -c listen_addresses=127.0.0.1 -c fsync=off", dir, s.Port)
	s.run(t, "pg_ctl", "-D", data, "-l", filepath.Join(dir, "log"), "-o", options, "-w", "start")
	t.Cleanup(func() { s.run(t, "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop") })
	return s
}

// Location is a query of the server over its socket.
func (s *Server) Location(query string) string {
	query = strings.NewReplacer("%", "%25", "&", "%26").Replace(query)
	return fmt.Sprintf("postgres://hanse@/postgres?host=%s&port=%s&query=%s", s.Socket, s.Port, query)
}

// Run runs SQL on the server.
func (s *Server) Run(t testing.TB, sql string) {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), fmt.Sprintf("host=%s port=%s user=hanse dbname=postgres", s.Socket, s.Port))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), sql).ReadAll(); err != nil {
		t.Fatal(err)
	}
}

// run runs one of PostgreSQL's programs.
func (s *Server) run(t testing.TB, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.SysProcAttr, cmd.Dir = s.as, s.Socket
	// To a file: the server keeps a pipe open.
	log, err := os.CreateTemp("", "hanse-pg-*.log")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(log.Name())
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		said, _ := os.ReadFile(log.Name())
		t.Fatalf("%s: %v\n%s", name, err, said)
	}
}

// someUser is a user without rights.
func someUser(t testing.TB) *syscall.Credential {
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.ParseUint(u.Uid, 10, 32)
			gid, _ := strconv.ParseUint(u.Gid, 10, 32)
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	needs.Missing(t, "PostgreSQL does not run as root, and there is no user postgres or nobody")
	return nil
}
