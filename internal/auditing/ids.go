package auditing

import (
	"errors"
	"fmt"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/internal/alignment"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg/psi"
)

// mostGuessed is how many rows of a table others are guessed near.
const mostGuessed = 4096

// readIDs reads a party's table of an alignment, as the ids that its node made of it, and guesses ids near them.
func readIDs(in *audit.Input, party int, path string, options dataset.Options) (*evidence.IDs, error) {
	facts := in.Contract.Parties[party]
	const table = "table"
	tables := jobs.NewTables(map[string]jobs.TableSpec{table: {Path: path, Options: options}})
	tables.AtUse = true
	if in.Charter != nil {
		tables.Identify = func() []string { return alignment.Columns(in.Charter.Identifiers) }
	}
	source, err := tables.Source(table)
	if err != nil {
		return nil, err
	}
	path = source.Path()
	if n := len(source.RowIDs()); n != facts.Rows {
		return nil, fmt.Errorf("%s is not the table that %s brought to the job: it has %d rows, and the contract says %d; "+
			"give that party's table of the job", path, facts.Name, n, facts.Rows)
	}
	agreed, confirmed := consentedTable(in, party)
	if confirmed && source.Sum() != agreed {
		return nil, fmt.Errorf("%s is not the table that %s brought to the job: its digest begins with %s, and that party "+
			"consented to %s; give that party's table of the job", path, facts.Name, source.Sum().Short(), agreed.Short())
	}
	read := &evidence.IDs{Table: source.Sum(), Confirmed: confirmed}
	if read.Lists, err = idsOf(in, source); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, by := range []int{-1, 1} {
		near, err := idsOf(in, &guessed{source, by})
		if err != nil {
			continue // guesses of which two are one id are no table
		}
		for pass, list := range near {
			if pass == len(read.Guesses) {
				read.Guesses = append(read.Guesses, nil)
			}
			read.Guesses[pass] = append(read.Guesses[pass], list...)
		}
	}
	return read, nil
}

// idsOf makes the ids of a table under each key of an alignment.
func idsOf(in *audit.Input, source alignment.Source) ([][]psi.ID, error) {
	params, err := psi.ParamsOf(in.Contract.Job)
	if err != nil {
		return nil, err
	}
	var charter keys.Hash
	if err := charter.UnmarshalText([]byte(in.Contract.Job.Charter)); err != nil {
		return nil, fmt.Errorf("the job's charter: %w", err)
	}
	var identifiers []keys.Identifier
	for _, name := range params.Keys {
		if in.Charter == nil || in.Charter.Digest() != charter {
			return nil, errors.New("the charter of the job says what its ids are made of: give it with --charter FILE")
		}
		id, ok := in.Charter.Identifier(name)
		if !ok {
			return nil, fmt.Errorf("charter %q has no identifier %q", in.Charter.Name, name)
		}
		identifiers = append(identifiers, id)
	}
	found, err := alignment.Lists(charter, identifiers, source)
	if err != nil {
		return nil, err
	}
	lists := make([][]psi.ID, len(found))
	for pass, l := range found {
		lists[pass] = l.IDs
	}
	return lists, nil
}

// guessed is a table with other numbers in its texts: the last run of digits of each is so much higher.
type guessed struct {
	alignment.Source
	by int
}

// RowIDs implements alignment.Source.
func (g *guessed) RowIDs() []string { return g.near(g.Source.RowIDs()) }

// Texts implements alignment.Source.
func (g *guessed) Texts(names ...string) ([][]string, []int, error) {
	columns, lines, err := g.Source.Texts(names...)
	if err != nil {
		return nil, nil, err
	}
	others := make([][]string, len(columns))
	for i, column := range columns {
		others[i] = g.near(column)
	}
	return others, lines[:min(mostGuessed, len(lines))], nil
}

// near returns texts with other numbers.
func (g *guessed) near(texts []string) []string {
	others := make([]string, min(mostGuessed, len(texts)))
	for i := range others {
		text := []byte(texts[i])
		end := len(text)
		for end > 0 && (text[end-1] < '0' || text[end-1] > '9') {
			end--
		}
		for at := end - 1; at >= 0 && text[at] >= '0' && text[at] <= '9'; at-- {
			d := int(text[at]-'0') + g.by
			text[at] = '0' + byte((d+10)%10)
			if 0 <= d && d < 10 {
				break // nothing is carried
			}
		}
		others[i] = string(text)
	}
	return others
}
