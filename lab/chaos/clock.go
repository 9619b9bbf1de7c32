package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/hanse-project/hanse/internal/localnet"
)

// shiftVariable holds the seconds that the clock of a program with a shifted clock is ahead.
const shiftVariable = "HANSE_CLOCK_SHIFT"

// shiftSource is what the time package gets in addition. It reads the variable once, when the program starts.
const shiftSource = `
var clockShift = readClockShift()

func readClockShift() int64 {
	text, _ := syscall.Getenv("` + shiftVariable + `")
	n, negative := int64(0), false
	for i := 0; i < len(text); i++ {
		if text[i] == '-' {
			negative = true
			continue
		}
		n = 10*n + int64(text[i]-'0')
	}
	if negative {
		return -n
	}
	return n
}
`

// shiftTime changes the source of the time package so that Now is ahead by the variable's seconds.
func shiftTime(source string) (string, error) {
	now := "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {"
	imports := "import (\n\t\"errors\"\n"
	if strings.Count(source, now) != 1 || strings.Count(source, imports) != 1 {
		return "", errors.New("this version of Go has another time package than can be shifted")
	}
	source = strings.Replace(source, now, "\tsec, nsec, mono := runtimeNow()\n\tsec += clockShift\n\tif mono == 0 {", 1)
	source = strings.Replace(source, imports, imports+"\t\"syscall\"\n", 1)
	return source + shiftSource, nil
}

// buildShifted builds the program with a clock that can be shifted, in the folder of trials.
func buildShifted(ctx context.Context, o Options) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	original := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	source, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	changed, err := shiftTime(string(source))
	if err != nil {
		return "", err
	}
	patched, overlay := filepath.Join(o.Dir, "time.go"), filepath.Join(o.Dir, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{original: patched}})
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.WriteFile(patched, []byte(changed), 0o600), os.WriteFile(overlay, text, 0o600)); err != nil {
		return "", err
	}
	program := filepath.Join(o.Dir, "hanse-shifted")
	return program, o.Build(ctx, program, "-overlay", overlay)
}

// unableToShift builds the program with a shifted clock, or says why that cannot be.
func unableToShift(ctx context.Context, l *lab) (err error) {
	if runtime.GOOS == "windows" {
		return errors.New("clocks are not shifted on Windows")
	}
	if l.shifted == "" {
		l.shifted, err = buildShifted(ctx, l.Options)
	}
	return err
}

// shiftClock gives the victim a program whose clock is off.
func shiftClock(_ context.Context, a *attempt) error {
	const day = 24 * time.Hour
	shift := []time.Duration{-30 * day, -day, day, 30 * day}[a.draw.IntN(4)]
	a.fault = fmt.Sprintf("clock %+.0f days off", shift.Hours()/24)
	a.fed.special[a.victim] = localnet.Node{Program: a.lab.shifted,
		Env: []string{fmt.Sprintf("%s=%d", shiftVariable, int64(shift.Seconds()))}}
	return nil
}
