package jobs

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sort"

	"github.com/hanse-project/hanse/internal/alignment"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/keys"
)

// firstRows is how many rows of a table a node reads when it starts.
const firstRows = 2000

// Survey looks at a table as a training would: at its first rows, or at all for 0. identify are the columns by which
// the charter identifies rows.
func (s TableSpec) Survey(first int, identify []string) (*dataset.Survey, error) {
	survey, _, err := s.survey(first, identify)
	return survey, err
}

// survey is Survey, with what was read.
func (s TableSpec) survey(first int, identify []string) (*dataset.Survey, *dataset.Reading, error) {
	o := s.Options
	o.First, o.Identify = first, identify
	r, err := dataset.Load(context.Background(), s.Path, o)
	if err != nil {
		return nil, nil, err
	}
	survey, err := r.Survey(o)
	return survey, r, err
}

// LookAt reads the first rows of a member's tables and says what is doubtful, of their ids under the charter's
// identifiers, too. The error is of a table that no job could
// use. Standard input, pipes and folders wait for the job that reads them. Where nobody said which column has the ids
// and none is good for it, the table may be a stream: that is said, too.
func LookAt(specs map[string]TableSpec, identifiers []keys.Identifier, log *slog.Logger) error {
	var names []string
	for name := range specs {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		spec := specs[name]
		if info, err := os.Stat(spec.Path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		s, r, err := spec.survey(firstRows, alignment.Columns(identifiers))
		noID := new(dataset.IDError)
		switch {
		case errors.As(err, &noID) && spec.Options.ID == "":
			log.Warn("as it is the table can be a stream for jobs over clients alone", "table", name, "because", err)
			continue
		case err != nil:
			return err
		}
		note(log, name, s)
		if len(identifiers) > 0 {
			for _, doubt := range Doubts(looks(r, identifiers)) {
				log.Warn(doubt, "table", name)
			}
		}
	}
	return nil
}

// note tells the log what a table is and what is doubtful in it.
func note(log *slog.Logger, name string, s *dataset.Survey) {
	rows := "rows"
	if s.First {
		rows = "first rows"
	}
	log.Info("looked at a table", "table", name, rows, s.Rows, "ids", s.ID, "columns", len(s.Columns))
	for _, note := range s.Notes() {
		log.Warn(note, "table", name)
	}
	if advice := s.Advice(); advice != "" {
		log.Warn("to read it so, "+advice, "table", name)
	}
}
