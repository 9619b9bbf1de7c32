package enrol

import (
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/hanse-project/hanse/protocol"
)

// TestMain fails when a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wantRemote compares the whole answer of the other node.
func wantRemote(t testing.TB, err error, want string) {
	t.Helper()
	var remote *protocol.RemoteError
	if !errors.As(err, &remote) {
		t.Errorf("got %v, want the answer: %s", err, want)
	} else if remote.Text != want {
		t.Errorf("got  %s\nwant %s", remote.Text, want)
	}
}
