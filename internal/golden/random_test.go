package golden

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	mathrand "math/rand/v2"
	"regexp"
	"runtime"
	"runtime/pprof"
	"sync"
	"testing"
)

// partyLabel is the label of goroutines that work for a party.
const partyLabel = "party"

// as runs f, and all goroutines that it starts, as one party's.
func as(ctx context.Context, party string, f func(context.Context)) {
	pprof.Do(ctx, pprof.Labels(partyLabel, party), f)
}

// labelled finds the party in the first line of a goroutine's stack.
var labelled = regexp.MustCompile(`^[^\n]*party"?: "?([a-z]+)`)

// source stands for crypto/rand in one run. What a party draws depends on its name, on the number of bytes, and on how
// many draws of that number it made before: not on the order in which parties come to draw.
type source struct {
	mu    sync.Mutex
	draws map[string]uint64
}

// fixRandom makes crypto/rand a source until the test ends. The first setting has crypto/ecdh use it too. The second
// one puts the labels of a goroutine into the first line of its stack, which is the way to read them.
func fixRandom(t *testing.T) {
	t.Setenv("GODEBUG", "cryptocustomrand=1,tracebacklabels=1")
	system := rand.Reader
	rand.Reader = &source{draws: make(map[string]uint64)}
	t.Cleanup(func() { rand.Reader = system })
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	stack := make([]byte, 512)
	party := ""
	if m := labelled.FindSubmatch(stack[:runtime.Stack(stack, false)]); m != nil {
		party = string(m[1])
	}
	who := fmt.Sprintf("%s, %d bytes", party, len(p))
	s.mu.Lock()
	draw := s.draws[who]
	s.draws[who]++
	s.mu.Unlock()
	seed := sha256.Sum256(binary.BigEndian.AppendUint64([]byte(who), draw))
	mathrand.NewChaCha8(seed).Read(p)
	return len(p), nil
}
