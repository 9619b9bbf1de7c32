package keys

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// FormatOf returns what a text says that it is: the value of its line `format = "…"` before any table, or "".
func FormatOf(text []byte) string {
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, `format = "`); ok {
			value, _, _ := strings.Cut(rest, `"`)
			return value
		}
		if strings.HasPrefix(line, "[") {
			break
		}
	}
	return ""
}

// CheckKind refuses a text that is another kind of file than the format want belongs to, such as "hanse-job-v1": a key
// file, or what says that it is a card, a charter, a job and so on. A text that says nothing passes.
func CheckKind(text []byte, want string) error {
	if isKeyFile(text) {
		return errors.New("this is a key file, which is secret: the card beside it is what others get")
	}
	return checkKind(FormatOf(text), want)
}

// isKeyFile reports whether a text has the line of a secret key, or begins as a key file does.
func isKeyFile(text []byte) bool {
	return bytes.HasPrefix(text, []byte(keyTitle)) || bytes.HasPrefix(text, []byte(secretPrefix)) ||
		bytes.Contains(text, []byte("\n"+secretPrefix))
}

// checkKind is CheckKind for what a text says that it is.
func checkKind(got, want string) error {
	kindOf := func(format string) string {
		format, _, _ = strings.Cut(strings.TrimPrefix(format, "hanse-"), "-v")
		return format
	}
	if is := kindOf(got); is != kindOf(want) && slices.Contains([]string{"card", "charter", "invitation", "job", "policy",
		"contract"}, is) {
		return fmt.Errorf("this is a %s (format %q), not a %s", is, got, kindOf(want))
	}
	return nil
}
