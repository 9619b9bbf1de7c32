package keys

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/internal/wording"
)

// separator stands between body and signatures, and nowhere else; it never changes.
const separator = "# --- signatures over every byte above this line ---\n"

// signaturesHeader begins what follows the separator.
const signaturesHeader = "[signatures]\n"

// maxSignatures is the largest number of signatures on a document.
const maxSignatures = MaxMembers

// signatureLine is the length of one signature in text form, for size checks: two quoted texts,
// " = " and a line end.
var signatureLine = len(ID{}.String()) + base64.StdEncoding.EncodedLen(ed25519.SignatureSize) + 8

// ParseDocument reads the text form of a document of the given domain. Every signature present
// is verified; which ones must be present is for the caller to say. Lines of signatures may
// stand in any order, so that members can paste theirs below one another.
func ParseDocument(domain string, text []byte) (*Document, error) {
	d, err := splitDocument(domain, text)
	if err != nil {
		return nil, err
	}
	if err := d.verify(ID.Short); err != nil {
		return nil, err
	}
	return d, nil
}

// NameOf returns the Hash of a document's text and whose signatures stand below it, which are not verified: to find out
// whether it is one that was verified before.
func NameOf(domain string, text []byte) (name Hash, signers []ID, err error) {
	d, err := splitDocument(domain, text)
	if err != nil {
		return Hash{}, nil, err
	}
	return d.Hash(), slices.Collect(maps.Keys(d.Signatures)), nil
}

// splitDocument is ParseDocument without verification.
func splitDocument(domain string, text []byte) (*Document, error) {
	kind := kindOf(domain)
	if len(text) > MaxDocument {
		return nil, fmt.Errorf("%s: %d bytes, at most %d are allowed", kind, len(text), MaxDocument)
	}
	if line, err := checkPrintable(text); err != nil {
		return nil, fmt.Errorf("%s: line %d: %w", kind, line, err)
	}
	body, rest, err := cutBody(text)
	if other := CheckKind(text, "hanse-"+kind+"-v1"); err != nil && other != nil {
		err = other
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	d := NewDocument(domain, body)
	first := bytes.Count(body, []byte("\n")) + 3
	if err := d.readSignatures(rest, first); err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	return d, nil
}

// cutBody divides a text into the body and the lines of signatures.
func cutBody(text []byte) (body []byte, signatures string, err error) {
	mark := strings.TrimSuffix(separator, "\n")
	n := bytes.Count(text, []byte(mark))
	switch {
	case len(text) == 0:
		return nil, "", errors.New("the file is empty")
	case n == 0:
		return nil, "", fmt.Errorf("the line %q, with which signatures begin, is not there: is it the right file?", mark)
	case n > 1:
		return nil, "", fmt.Errorf("the line %q stands there %d times, want once", mark, n)
	}
	at := bytes.Index(text, []byte("\n"+separator+signaturesHeader))
	if at < 0 {
		return nil, "", fmt.Errorf("the line %q must follow the text, and %q must follow it", mark,
			strings.TrimSpace(signaturesHeader))
	}
	body = text[:at+1]
	return body, string(text[at+1+len(separator)+len(signaturesHeader):]), nil
}

// readSignatures reads one signature a line; first is the number of the first line.
func (d *Document) readSignatures(lines string, first int) error {
	if n := strings.Count(lines, "\n"); n > maxSignatures {
		return fmt.Errorf("%d signatures, at most %d are allowed", n, maxSignatures)
	}
	for i := first; lines != ""; i++ {
		line, rest, ended := strings.Cut(lines, "\n")
		if !ended {
			return fmt.Errorf("line %d: the line end is missing: the text is cut short", i)
		}
		id, sig, err := parseSignature(line)
		if err != nil {
			return fmt.Errorf("line %d: %w", i, err)
		}
		if _, twice := d.Signatures[id]; twice {
			return fmt.Errorf("line %d: a second signature of %s", i, id.Short())
		}
		d.Signatures[id] = sig
		lines = rest
	}
	return nil
}

// parseSignature reads `"id" = "base64"`, in exactly this spelling.
func parseSignature(line string) (ID, []byte, error) {
	rest, okStart := strings.CutPrefix(line, `"`)
	name, value, okMiddle := strings.Cut(rest, `" = "`)
	value, okEnd := strings.CutSuffix(value, `"`)
	if !okStart || !okMiddle || !okEnd {
		return ID{}, nil, errors.New(`malformed signature: want "hanse-id1…" = "base64" and nothing else`)
	}
	id, err := ParseID(name)
	if err != nil {
		return ID{}, nil, err
	}
	sig, err := base64.StdEncoding.Strict().DecodeString(value)
	if err != nil || len(sig) != ed25519.SignatureSize {
		return ID{}, nil, fmt.Errorf("malformed signature of %s: want %d bytes in base64", id.Short(), ed25519.SignatureSize)
	}
	return id, sig, nil
}

// decodeBody reads the body of a document into v. format points into v, at what must be want.
// A text of another version is called that, rather than blamed for keys this version does not know.
func decodeBody(kind, want string, body []byte, v any, format *string) error {
	err := DecodeStrict(kind, body, v)
	got := *format
	if err != nil {
		// What the line `format = "…"` says: the rest of another version's text need not mean
		// anything here.
		got = FormatOf(body)
	}
	if err := checkKind(got, want); err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	if got != want && (err == nil || got != "") {
		return fmt.Errorf("%s: format %q, but this program reads %q", kind, wording.ClipAt(got, 40), want)
	}
	return err
}
