package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

func TestSortArguments(t *testing.T) {
	known := []cli.Flag{
		&cli.StringFlag{Name: "out", Aliases: []string{"o"}}, &cli.BoolFlag{Name: "yes", Aliases: []string{"y"}},
		&cli.DurationFlag{Name: "expires"}, &cli.StringSliceFlag{Name: "card"},
	}
	for _, c := range []struct {
		given, flags, arguments string
		mixed                   bool
	}{
		{"", "", "", false},
		{"a", "", "a", false},
		{"--yes a", "--yes", "a", false},
		{"a --yes", "--yes", "a", true},
		{"a -o b c", "-o b", "a c", true},
		{"-o b a --card x --card y", "-o b --card x --card y", "a", true},
		{"a --out=b c", "--out=b", "a c", true},
		{"a --expires -1h", "--expires -1h", "a", true},
		{"a --out", "--out", "a", true},
		{"a --unknown b", "--unknown", "a b", true},
		{"a - b", "", "a - b", false},
		{"-- -o b", "", "-o b", false},
		{"a -y -- -o b", "-y", "a -o b", true},
	} {
		flags, arguments, mixed := sortArguments(known, strings.Fields(c.given))
		if !slices.Equal(flags, strings.Fields(c.flags)) || !slices.Equal(arguments,
			strings.Fields(c.arguments)) || mixed != c.mixed {
			t.Errorf("%q: %q, %q, %v", c.given, flags, arguments, mixed)
		}
	}
}
