package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/lab/sets"
)

// setsCommand lists the papers' data sets.
func setsCommand() *cli.Command {
	return &cli.Command{
		Name:  "sets",
		Usage: "list the papers' data sets: which are in the data folder, and where to get the others",
		Description: `Looks for the files of every set in its folder below the data folder, and in the data folder
itself, plain, .gz or .bz2. Drop a missing set's files there and all commands take it.

   hanselab sets --data ../shared/data`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "data", Required: true, Usage: "`FOLDER` with the data sets"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object on standard output"},
		},
		Action: runSets,
	}
}

// listedSet is a set as the command prints it.
type listedSet struct {
	Name    string   `json:"set"`
	Rows    int      `json:"rows"`
	Columns int      `json:"columns"`
	Task    string   `json:"predicts"`
	Papers  []string `json:"papers"`
	Files   []string `json:"files,omitempty"` // where they are; none: the set is absent
	Absent  string   `json:"absent,omitempty"`
}

// runSets prints the list.
func runSets(c *cli.Context) error {
	var list []listedSet
	for _, s := range sets.All() {
		l := listedSet{Name: s.Name, Rows: s.Rows, Columns: s.Columns, Task: s.Task, Papers: s.Papers}
		files, err := s.Find(c.String("data"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if l.Files = files; err != nil {
			l.Absent = err.Error()
		}
		list = append(list, l)
	}
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(struct {
			Sets []listedSet `json:"sets"`
		}{list})
	}
	t := newTable("set", "rows", "columns", "predicts", "papers", "files")
	for _, l := range list {
		state := "here"
		if l.Absent != "" {
			state = "absent"
		}
		t.add(l.Name, fmt.Sprint(l.Rows), fmt.Sprint(l.Columns), l.Task, strings.Join(l.Papers, ", "), state)
	}
	if err := t.write(c.App.Writer); err != nil {
		return err
	}
	for _, l := range list {
		if l.Absent != "" {
			fmt.Fprintf(c.App.Writer, "\n%s", l.Absent)
		}
	}
	_, err := fmt.Fprintln(c.App.Writer)
	return err
}
