package owner

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// squatter is a local user who stands at the path of a runtime folder before its owner comes.
type squatter struct {
	what   string
	stands func(t *testing.T, path string)
	self   User // who looks at it
	want   string
}

// TestSquatterAtTheRuntimeFolder: whatever stands at the computable path is used only if it is a private folder of this
// user's.
func TestSquatterAtTheRuntimeFolder(t *testing.T) {
	mode := func(m os.FileMode) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			must(t, os.Mkdir(path, 0o700))
			must(t, os.Chmod(path, m))
		}
	}
	link := func(t *testing.T, path string) {
		elsewhere := t.TempDir()
		must(t, os.Chmod(elsewhere, 0o700))
		must(t, os.Symlink(elsewhere, path))
	}
	socket := func(t *testing.T, path string) {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Skip(err) // the path is too long here
		}
		t.Cleanup(func() { l.Close() })
	}
	for _, s := range []squatter{
		{"a folder that all may write to", mode(0o777), Self(), "is open to other users of this machine (mode 0777)"},
		{"a folder that others may look into", mode(0o711), Self(), "is open to other users of this machine (mode 0711)"},
		{"a link", link, Self(), "is no folder"},
		{"a socket", socket, Self(), "is no folder"},
		{"another user's folder", mode(0o700), Self() + 1, "belongs to another user of this machine"},
		{"another user's folder, before root", mode(0o700), Root, "belongs to another user of this machine"},
	} {
		t.Run(s.what, func(t *testing.T) {
			temporary, err := os.MkdirTemp("", "sq")
			must(t, err)
			t.Cleanup(func() { os.RemoveAll(temporary) })
			s.stands(t, filepath.Join(temporary, fmt.Sprintf("hanse-%d", s.self)))
			if s.self == Self() && strings.HasSuffix(s.what, "root") {
				t.Skip("this is root's own")
			}
			_, err = runtime("", temporary, s.self)
			if err == nil || !strings.Contains(err.Error(), s.want) || !strings.Contains(err.Error(), "XDG_RUNTIME_DIR") {
				t.Errorf("error %v, want %q and what to do", err, s.want)
			}
		})
	}
}

// TestRuntimeFolder: it is made private, found again, and a session's folder goes first only where it is private.
func TestRuntimeFolder(t *testing.T) {
	temporary, session := t.TempDir(), t.TempDir()
	for range 2 {
		path, err := runtime("", temporary, Self())
		must(t, err)
		if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != 0o700 || filepath.Dir(path) != temporary {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	for mode, want := range map[os.FileMode]string{0o700: session, 0o755: temporary} {
		must(t, os.Chmod(session, mode))
		if path, err := runtime(session, temporary, Self()); err != nil || filepath.Dir(path) != want {
			t.Errorf("with a session's folder of mode %o: %s, %v", mode, path, err)
		}
	}
}

// TestFolderOfOthersRights is refused with the command that mends it; a new one needs none.
func TestFolderOfOthersRights(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "node")
	must(t, Folder(path))
	for _, mode := range []os.FileMode{0o755, 0o750, 0o701} {
		must(t, os.Chmod(path, mode))
		if err := Folder(path); err == nil || !strings.Contains(err.Error(), `run "chmod 700 `+path+`"`) {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	must(t, os.Chmod(path, 0o700))
	if err := Folder(path); err != nil {
		t.Error(err)
	}
}

// TestPeerIsThisUser asks the system about a socket whose two ends are this process's.
func TestPeerIsThisUser(t *testing.T) {
	dir, err := os.MkdirTemp("", "peer")
	must(t, err)
	defer os.RemoveAll(dir)
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	must(t, err)
	defer listener.Close()
	near, err := net.Dial("unix", listener.Addr().String())
	must(t, err)
	defer near.Close()
	far, err := listener.Accept()
	must(t, err)
	defer far.Close()
	for _, conn := range []net.Conn{near, far} {
		if who, err := Peer(conn); err != ErrUnknown && (err != nil || who != Self()) {
			t.Errorf("the other end is %v (%v), want %v", who, err, Self())
		}
	}
	if Self().Name() == "" {
		t.Error("a user without a name")
	}
}

// must ends the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
