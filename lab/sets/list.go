package sets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/table"
)

// ListedSet is a set as the command prints it.
type ListedSet struct {
	Name    string   `json:"set"`
	Rows    int      `json:"rows"`
	Columns int      `json:"columns"`
	Task    string   `json:"predicts"`
	Papers  []string `json:"papers"`
	Files   []string `json:"files,omitempty"` // where they are; none: the set is absent
	Absent  string   `json:"absent,omitempty"`
}

// ListOptions are the choices of List.
type ListOptions struct {
	Data string
}

// List prints the list.
func List(ctx context.Context, run lab.Run, o ListOptions) error {
	var list []ListedSet
	for _, s := range All() {
		l := ListedSet{Name: s.Name, Rows: s.Rows, Columns: s.Columns, Task: s.Task, Papers: s.Papers}
		files, err := s.Find(o.Data)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if l.Files = files; err != nil {
			l.Absent = err.Error()
		}
		list = append(list, l)
	}
	if run.JSON {
		return json.NewEncoder(run.Out).Encode(struct {
			Sets []ListedSet `json:"sets"`
		}{list})
	}
	t := table.New("set", "rows", "columns", "predicts", "papers", "files")
	for _, l := range list {
		state := "here"
		if l.Absent != "" {
			state = "absent"
		}
		t.Addf("%s|%v|%v|%s|%s|%s", l.Name, l.Rows, l.Columns, l.Task, strings.Join(l.Papers, ", "), state)
	}
	if err := t.Write(run.Out); err != nil {
		return err
	}
	for _, l := range list {
		if l.Absent != "" {
			fmt.Fprintf(run.Out, "\n%s", l.Absent)
		}
	}
	_, err := fmt.Fprintln(run.Out)
	return err
}
