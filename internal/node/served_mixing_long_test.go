//go:build long

package node

import "testing"

// TestAServerThatRestartsComesBackIntoEncryptedSums, whose keys are dealt while it is ahead: sums wait for it then.
func TestAServerThatRestartsComesBackIntoEncryptedSums(t *testing.T) { restartsAServer(t, "he") }
