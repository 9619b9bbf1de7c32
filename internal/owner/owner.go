// Package owner says who on this machine may come near a node: which folders and files are its owner's alone, and which
// user is at the other end of a socket. On systems without Unix rights it checks nothing; docs/threat-model.md says so.
package owner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"github.com/hanse-project/hanse/internal/textfile"
)

// ErrUnknown says that the system does not tell who is at the other end of a socket.
var ErrUnknown = errors.New("this system does not say which user is at the other end of a socket")

// Root is the user who may do everything.
const Root = 0

// User is a user of this machine by number.
type User int

// Self is the user who runs this process.
func Self() User { return User(os.Geteuid()) }

// Name returns the user's name, or "uid N" where the system has none.
func (u User) Name() string {
	if found, err := user.LookupId(strconv.Itoa(int(u))); err == nil {
		return found.Username
	}
	return "uid " + strconv.Itoa(int(u))
}

// Folder makes a folder that its owner alone may open. One that is there already must be such: its path may be a link.
func Folder(path string) error {
	if err := textfile.MakeFolder(path); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if err := private(info, Self()); err != nil {
		return fmt.Errorf("the folder %s %w: run \"chmod 700 %s\" as its owner, or choose another folder", path, err, path)
	}
	return nil
}

// private refuses what another user owns, or may open. Root runs on folders of others.
func private(info fs.FileInfo, self User) error {
	of, known := ownerOf(info)
	switch {
	case !info.IsDir():
		return errors.New("is no folder")
	case !known:
		return nil
	case of != self && self != Root:
		return fmt.Errorf("belongs to another user of this machine, %s", of.Name())
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("is open to other users of this machine (mode %04o)", info.Mode().Perm())
	}
	return nil
}

// Of returns the user whom a folder belongs to.
func Of(path string) (User, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	of, known := ownerOf(info)
	if !known {
		return Self(), nil
	}
	return of, nil
}

// Runtime returns a folder for sockets that is this user's alone: one in $XDG_RUNTIME_DIR where that is private, else
// one in the temporary folder. What another user has put there first is refused, and never used.
func Runtime() (string, error) {
	return runtime(os.Getenv("XDG_RUNTIME_DIR"), os.TempDir(), Self())
}

// runtime is Runtime for these folders and this user.
func runtime(session, temporary string, self User) (string, error) {
	path := filepath.Join(temporary, fmt.Sprintf("hanse-%d", self))
	if info, err := os.Lstat(session); session != "" && err == nil && exactly(info, self) == nil {
		path = filepath.Join(session, "hanse")
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(path) // a link is no folder
	if err == nil {
		err = exactly(info, self)
	}
	if err != nil {
		return "", fmt.Errorf("%s %w, so no socket can stand there: set XDG_RUNTIME_DIR to a private folder of your own "+
			"(mode 0700), or choose a node's folder with a shorter path", path, err)
	}
	return path, nil
}

// exactly is private, for root too: what stands in a folder that all may write to is its own or nobody's.
func exactly(info fs.FileInfo, self User) error {
	if of, known := ownerOf(info); known && info.IsDir() && of != self {
		return fmt.Errorf("belongs to another user of this machine, %s", of.Name())
	}
	return private(info, self)
}
