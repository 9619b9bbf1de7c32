package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/hanse-project/hanse/internal/owner"
	"github.com/hanse-project/hanse/keys"
)

// socketFile is, in a node's folder, its socket for its owner's commands, or a link to it where that path is too long.
const socketFile = "node.sock"

// maxSocketPath is the longest path that a Unix socket may have on every system.
const maxSocketPath = 100

// headTime is how long a command's node waits for the head of a request.
const headTime = 10 * time.Second

// reader asks the system who is at the other end of a socket.
type reader func(net.Conn) (owner.User, error)

// socketPlace returns where a node with this folder listens: in the folder, or, where that path is too long for a
// socket, in a private folder of its user's. Then link is where the node's folder says so.
func socketPlace(dir string) (path, link string, err error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", "", err
	}
	if path = filepath.Join(abs, socketFile); len(path) <= maxSocketPath {
		return path, "", nil
	}
	folder, err := owner.Runtime()
	if err != nil {
		return "", "", fmt.Errorf("the path %s is too long for a socket: %w", path, err)
	}
	name := keys.HashOf("hanse socket v1", []byte(abs)).String()[:24] + ".sock"
	return filepath.Join(folder, name), path, nil
}

// socketOf returns where the node of a folder listens, as the folder says.
func socketOf(dir string) (string, error) {
	path, err := filepath.Abs(filepath.Join(dir, socketFile))
	if err != nil {
		return "", err
	}
	target, err := os.Readlink(path)
	if err == nil {
		return target, nil
	}
	return path, nil
}

// alone refuses a folder whose node runs.
func alone(dir string) error {
	path, _, err := socketPlace(dir)
	if err != nil {
		return err
	}
	standing, err := socketOf(dir) // another place, where the runtime folder was another
	if err != nil {
		return err
	}
	for _, at := range []string{path, standing} {
		if conn, err := net.Dial("unix", at); err == nil {
			conn.Close()
			return fmt.Errorf("another node runs on %s: stop it first, or give this one another --dir", dir)
		}
	}
	return nil
}

// listenSocket takes the socket over from a node that died, but not from one that lives.
func listenSocket(dir string) (net.Listener, error) {
	if err := alone(dir); err != nil {
		return nil, err
	}
	path, link, err := socketPlace(dir)
	if err != nil {
		return nil, err
	}
	for _, old := range []string{path, link} {
		if err := os.Remove(old); old != "" && err != nil && !os.IsNotExist(err) {
			return nil, err
		}
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err = os.Chmod(path, 0o600); err == nil && link != "" {
		err = os.Symlink(path, link)
	}
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

// callerKey is where a request's context has its caller.
type callerKey struct{}

// caller is who sent a command.
type caller struct {
	user owner.User
	err  error
}

// callerOf returns the user of this machine who sent a command; false where the system does not say.
func callerOf(ctx context.Context) (owner.User, bool) {
	c, ok := ctx.Value(callerKey{}).(caller)
	return c.user, ok && c.err == nil
}

// commands answers the owner's commands, and nobody else's.
func (n *socket) commands() *http.Server {
	return &http.Server{
		ReadHeaderTimeout: headTime,
		Handler:           n.ownersAlone(n.routes()),
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			user, err := n.peer(conn)
			return context.WithValue(ctx, callerKey{}, caller{user, err})
		},
	}
}

// ownersAlone lets through what the node's own user and root ask for. Where the system does not say who asks, the
// rights of the socket's folder alone keep others out.
func (n *socket) ownersAlone(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, ok := r.Context().Value(callerKey{}).(caller)
		switch {
		case !ok || c.err != nil && !errors.Is(c.err, owner.ErrUnknown):
			n.config.Log.Warn("a command was refused: the system did not say whose it is", "error", c.err)
			http.Error(w, "the node cannot tell which user sends this command, and answers its own user alone",
				http.StatusForbidden)
		case c.err == nil && c.user != owner.Self() && c.user != owner.Root:
			n.config.Log.Warn("a command of another user of this machine was refused", "user", c.user.Name(), "uid", int(c.user))
			http.Error(w, fmt.Sprintf("this node answers its own user %s and root, not %s: run the command as one of these",
				owner.Self().Name(), c.user.Name()), http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// dialNode opens a connection to the node of a folder, and makes sure that it is the folder's owner who answers.
func dialNode(ctx context.Context, dir string, peer reader) (net.Conn, error) {
	path, err := socketOf(dir)
	if err != nil {
		return nil, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := checkAnswerer(dir, path, conn, peer); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// checkAnswerer refuses a node that is not run by the owner of its folder, and for others than root a folder of others.
func checkAnswerer(dir, path string, conn net.Conn, peer reader) error {
	of, err := owner.Of(dir)
	if err != nil {
		return err
	}
	if self := owner.Self(); of != self && self != owner.Root {
		return &strangerError{fmt.Sprintf("the folder %s belongs to %s, and you are %s: a node takes commands of its own "+
			"user and of root; run this command as one of these", dir, of.Name(), self.Name())}
	}
	user, err := peer(conn)
	switch {
	case errors.Is(err, owner.ErrUnknown):
		return nil
	case err != nil:
		return err
	case user != of && user != owner.Root:
		return &strangerError{fmt.Sprintf("%s answers at %s, where the node of %s should: nothing was sent; stop that "+
			"program, and start the node again", user.Name(), path, of.Name())}
	}
	return nil
}

// strangerError says that another user stands where a node should.
type strangerError struct{ text string }

func (e *strangerError) Error() string { return e.text }

// personOf is the name of the user whose command a request is, empty where the system does not tell.
func personOf(r *http.Request) string {
	user, ok := callerOf(r.Context())
	if !ok {
		return ""
	}
	return user.Name()
}
