package enrol

import (
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/fault"
)

// TestMain fails when a test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wantRemote checks that the other node answered by a code, and compares what its owner reads under the reference.
func wantRemote(t testing.TB, callee *node, err error, code fault.Code, want string) {
	t.Helper()
	var remote *protocol.RemoteError
	if !errors.As(err, &remote) {
		t.Errorf("got %v, want the answer: %s", err, want)
		return
	}
	if remote.Fault.Code != code {
		t.Errorf("got the code %s, want %s", remote.Fault.Code, code)
	}
	found := must(callee.config.References.Find(remote.Fault.Ref))(t)
	if len(found) != 1 || found[0].Text != want {
		t.Errorf("under %q stands %v,\nwant %s", remote.Fault.Ref, found, want)
	}
}
