package forecast

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/hanse-project/hanse/internal/build"
	"github.com/hanse-project/hanse/internal/durable"
)

// Kind is a kind of work.
type Kind string

// The kinds of work, and what one unit of each is.
const (
	DenseAngle   Kind = "dense angle"   // an angle of a row's numbers, beside its terms
	DenseTerm    Kind = "dense term"    // one number's part of an angle
	BinaryAngle  Kind = "binary angle"  // an angle of a row's binary columns, beside its terms
	BinaryTerm   Kind = "binary term"   // the part of one column that is 1
	Cosine       Kind = "cosine"        // a feature of an angle, with a coefficient
	Gram         Kind = "gram"          // an entry of the Gram matrix, of one row's features
	Equation     Kind = "equation"      // a cube of the number of features: equations in as many unknowns
	Masked       Kind = "masked"        // a byte under the mask of one pair
	Padded       Kind = "padded"        // a byte of a one-time pad
	Square       Kind = "square"        // an entry of a Gram matrix of words of 64 bits, of one row's features
	SmallSquare  Kind = "small square"  // an entry of a Gram matrix of words of 32 bits, of one row's features
	Product      Kind = "product"       // an entry of a matrix of words times that of a vector
	PointHash    Kind = "point hash"    // an id hashed to the curve
	PointProduct Kind = "point product" // a point times a scalar
	StoreKey     Kind = "store key"     // an id put into a store
	StoreValue   Kind = "store value"   // an id looked up in a store
	Coded        Kind = "coded"         // an id coded, put into an index and looked up there
	Drawn        Kind = "drawn"         // a row drawn for the intervals of figures
	Moved        Kind = "moved"         // a byte copied to memory that was not in use
	Hashed       Kind = "hashed"        // a byte of SHA-256
	Carried      Kind = "carried"       // a byte through TLS and a socket, at one end
	Message      Kind = "message"       // a short message through them, at one end
	Written      Kind = "written"       // a byte written to a file
	Synced       Kind = "synced"        // a short file that is synced
)

// kinds are all of them.
var kinds = []Kind{DenseAngle, DenseTerm, BinaryAngle, BinaryTerm, Cosine, Gram, Equation, Masked, Padded, Square,
	SmallSquare, Product, PointHash, PointProduct, StoreKey, StoreValue, Coded, Drawn, Moved, Hashed, Carried, Message,
	Written, Synced}

// Speeds is how long this machine takes for one unit of each kind on one core, in seconds, with nothing else running.
type Speeds struct {
	Of    string           `json:"of"`    // the build and the machine; see current
	Cores int              `json:"cores"` // that a node uses
	Unit  map[Kind]float64 `json:"seconds"`
}

// speedsFile is where a node's folder keeps them, and hanse/speeds.json in the folder that the system has for what a
// user's programs can find again.
const speedsFile = "speeds.json"

// current names what speeds depend on: another program may have other kernels, also where neither is a release, and a
// folder may be moved.
func current() string {
	b := build.Read()
	host, _ := os.Hostname() // without a name all machines are one
	var changed int64        // 0: nobody can say
	if path, err := os.Executable(); err == nil {
		if info, err := os.Stat(path); err == nil {
			changed = info.ModTime().Unix()
		}
	}
	return fmt.Sprintf("%s %s %s %s of %d on %s, %d cores", b.Version, b.Commit, b.Go, b.System, changed, host,
		runtime.GOMAXPROCS(0))
}

// ReadSpeeds returns the speeds of this build on this machine that a folder keeps. Else it takes those that the user's
// cache keeps and measures the folder's disk; where neither has them it measures the machine, which takes a fraction of
// a second, and keeps them in both. A file that cannot be read or written is no error: it is measured anew.
func ReadSpeeds(dir string) (*Speeds, error) {
	own, shared := filepath.Join(dir, speedsFile), ""
	if cache, err := os.UserCacheDir(); err == nil {
		shared = filepath.Join(cache, "hanse", speedsFile)
	}
	if s := kept(own); s != nil {
		return s, nil
	}
	s := kept(shared)
	if s == nil {
		var err error
		if s, err = Measure(dir); err != nil {
			return nil, err
		}
		if shared != "" && os.MkdirAll(filepath.Dir(shared), 0o700) == nil {
			s.keep(shared)
		}
	} else if err := write(s.Unit, dir); err != nil {
		return nil, fmt.Errorf("this machine's speed of %s: %w", Written, err)
	}
	s.keep(own)
	return s, nil
}

// kept returns the speeds in a file, nil where they are not of this build on this machine.
func kept(path string) *Speeds {
	text, err := os.ReadFile(path)
	s := new(Speeds)
	if err != nil || json.Unmarshal(text, s) != nil || s.Of != current() || s.Cores < 1 || !s.complete() {
		return nil
	}
	return s
}

// keep writes the speeds to a file, if it can.
func (s *Speeds) keep(path string) {
	if text, err := json.MarshalIndent(s, "", "  "); err == nil {
		_ = durable.WriteFile(path, append(text, '\n'))
	}
}

// complete reports whether there is a time of every kind, and none is absurd: the file may be anybody's.
func (s *Speeds) complete() bool {
	for _, kind := range kinds {
		if u, ok := s.Unit[kind]; !ok || !(u >= 0 && u < 10) {
			return false
		}
	}
	return true
}

// started is when the program began, for times by the wall clock.
var started = time.Now()

// Each sample runs at least so often, and until so much time has passed; the fastest run counts, which nothing else
// that the machine does can slow down.
const (
	leastRuns = 3
	runsTime  = 4 * time.Millisecond
)

// Measure measures this machine. Files that it writes are in the folder dir for a moment.
func Measure(dir string) (*Speeds, error) {
	s := &Speeds{Of: current(), Cores: runtime.GOMAXPROCS(0), Unit: make(map[Kind]float64)}
	fail := func(what string, err error) (*Speeds, error) {
		return nil, fmt.Errorf("this machine's speed of %s: %w", what, err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, p := range samples {
		run, err := p.begin()
		if err == nil {
			err = run() // caches and tables fill
		}
		best, began := math.Inf(1), time.Now()
		for n := 0; err == nil && (n < leastRuns || time.Since(began) < runsTime); n++ {
			at := threadTime()
			err = run()
			best = min(best, (threadTime() - at).Seconds())
		}
		if err != nil {
			return fail(string(p.kind), err)
		}
		s.Unit[p.kind] = best / p.units
	}
	// Two samples of angles differ in their terms alone.
	for _, pair := range [][2]Kind{{DenseAngle, DenseTerm}, {BinaryAngle, BinaryTerm}} {
		few, many := s.Unit[pair[0]], s.Unit[pair[1]]
		term := max(0, many-few) / (manyTerms - fewTerms)
		s.Unit[pair[0]], s.Unit[pair[1]] = max(0, few-fewTerms*term), term
	}
	if err := carry(s.Unit); err != nil {
		return fail(string(Carried), err)
	}
	if err := write(s.Unit, dir); err != nil {
		return fail(string(Written), err)
	}
	return s, nil
}
