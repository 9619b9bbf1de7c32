package chaos

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The ways in which a file is damaged.
const (
	damageFlip   = "one bit flipped"
	damageCut    = "cut short"
	damageEmpty  = "emptied"
	damageDelete = "deleted"
	damageOlder  = "replaced by an older copy"
)

// damages lists the ways.
func damages() []string {
	return []string{damageFlip, damageCut, damageEmpty, damageDelete, damageOlder}
}

// damage damages a file and says exactly how. older are earlier contents of it. A way that would change nothing, such
// as an older copy where there is none, becomes a flipped bit, or for an empty file its end.
func damage(path, way string, older [][]byte, draw *rand.Rand) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if way == damageOlder && len(older) == 0 || len(data) == 0 {
		way = damageFlip
	}
	if len(data) == 0 {
		way = damageDelete
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	said := way
	switch way {
	case damageDelete:
		return said, os.Remove(path)
	case damageFlip:
		at, bit := draw.IntN(len(data)), draw.IntN(8)
		data[at] ^= 1 << bit
		said = fmt.Sprintf("bit %d of byte %d of %d flipped", bit, at, len(data))
	case damageCut:
		n := draw.IntN(len(data))
		said = fmt.Sprintf("cut to %d of %d bytes", n, len(data))
		data = data[:n]
	case damageEmpty:
		data = nil
	case damageOlder:
		pick := draw.IntN(len(older))
		said = fmt.Sprintf("replaced by copy %d of %d that it had before", pick+1, len(older))
		data = older[pick]
	}
	return said, os.WriteFile(path, data, info.Mode().Perm())
}

// victimFile draws a file of a node's folder: first what is called so, then one of those, so that a kind of file
// that there is once is met as often as one that there are many of.
func victimFile(dir string, draw *rand.Rand) (string, error) {
	all, err := stateFiles(dir)
	if err != nil {
		return "", err
	}
	groups := make(map[string][]string)
	var names []string
	for _, path := range all {
		name := fileKind(path)
		if groups[name] == nil {
			names = append(names, name)
		}
		groups[name] = append(groups[name], path)
	}
	if len(names) == 0 {
		return "", fmt.Errorf("%s has no files to damage", dir)
	}
	group := groups[names[draw.IntN(len(names))]]
	return group[draw.IntN(len(group))], nil
}

// fileKind says what a file of a node's folder is: its name, without numbers, and the folder of those that are named
// by what they hold.
func fileKind(path string) string {
	for _, folder := range []string{"proposals", "invitations", "payloads", "networks"} {
		if slices.Contains(strings.Split(filepath.ToSlash(path), "/"), folder) {
			return folder
		}
	}
	return strings.TrimRight(filepath.Base(path), "-0123456789")
}

// stateFiles lists the files that a node keeps, in the order of their names; files that are being written are none.
func stateFiles(dir string) ([]string, error) {
	var all []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if os.IsNotExist(err) { // gone since its folder was read
			return nil
		}
		if err != nil || !d.Type().IsRegular() || strings.HasSuffix(path, ".tmp") || d.Name() == fillerName {
			return err
		}
		all = append(all, path)
		return nil
	})
	slices.Sort(all)
	return all, err
}
