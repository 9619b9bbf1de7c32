package main

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// linkTarget finds where a page's links and pictures lead to; linked is a link in a heading, and what is read of it;
// notKept is what an anchor lacks.
var (
	linkTarget = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	linked     = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	notKept    = regexp.MustCompile(`[^\pL\pN _-]`)
)

// anchorsOf returns the anchors of a page's headings, as GitHub makes them: marks are left out but for hyphens and
// underscores, a blank becomes a hyphen, and the second heading of the same words has -1 behind it.
func anchorsOf(page string) []string {
	var anchors []string
	count := make(map[string]int)
	for line := range strings.Lines(fenced.ReplaceAllString(page, "")) {
		marks, heading, found := strings.Cut(strings.TrimSpace(line), " ")
		if !found || marks == "" || strings.Trim(marks, "#") != "" {
			continue
		}
		anchor := linked.ReplaceAllString(heading, "$1")
		anchor = strings.ReplaceAll(strings.ToLower(notKept.ReplaceAllString(anchor, "")), " ", "-")
		if n := count[anchor]; n > 0 {
			anchors = append(anchors, fmt.Sprintf("%s-%d", anchor, n))
		} else {
			anchors = append(anchors, anchor)
		}
		count[anchor]++
	}
	return anchors
}

// deadLink says what is wrong with a link of a page to a file or a heading, "" if it leads somewhere. Others' sites are
// not looked at.
func deadLink(page, target string) string {
	path, anchor, _ := strings.Cut(target, "#")
	if u, err := url.Parse(target); err != nil || u.Scheme != "" {
		return ""
	}
	to := page
	if path != "" {
		to = filepath.Join(filepath.Dir(page), filepath.FromSlash(path))
	}
	if anchor == "" {
		if _, err := os.Stat(to); err != nil {
			return "there is no such file"
		}
		return ""
	}
	text, err := os.ReadFile(to)
	if err != nil {
		return "there is no such file"
	}
	if !slices.Contains(anchorsOf(string(text)), anchor) {
		return "no heading has that anchor"
	}
	return ""
}

// TestLinksOfThePagesLeadSomewhere follows every link of a page of this repository to a file of it, and to a heading.
func TestLinksOfThePagesLeadSomewhere(t *testing.T) {
	var files, headings int
	must(t, filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range linkTarget.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			if why := deadLink(path, m[1]); why != "" {
				t.Errorf("%s links to %s: %s", path, m[1], why)
			}
			files++
			if strings.Contains(m[1], "#") {
				headings++
			}
		}
		return nil
	}))
	if files < 300 || headings < 30 {
		t.Errorf("%d links were followed, %d of them to a heading: is the search broken?", files, headings)
	}
}

// TestDeadLinksAreFound: what leads nowhere is said.
func TestDeadLinksAreFound(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	text := "# A page\n\n## How it stands: `hanse status`\n\n## [Twice](page.md)\n\n## Twice\n\n```sh\n# no heading\n```\n"
	must(t, os.WriteFile(page, []byte(text), 0o600))
	for _, target := range []string{
		"page.md", "page.md#a-page", "#how-it-stands-hanse-status", "#twice", "#twice-1", "https://example.org/none#none",
	} {
		if why := deadLink(page, target); why != "" {
			t.Errorf("%s: %s", target, why)
		}
	}
	for _, target := range []string{
		"other.md", "other.md#a-page", "#no-heading", "#twice-2", "page.md#A-page", "../page.md",
	} {
		if deadLink(page, target) == "" {
			t.Errorf("%s leads somewhere", target)
		}
	}
}
