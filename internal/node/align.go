package node

import (
	"context"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// aligned refuses facts with different numbers of rows. A helper without data has none. Whether the ids are the same
// is compared in the session, once all have consented to just that: see compareRows.
func aligned(all []protocol.Facts) error {
	all = withData(all)
	for _, f := range all {
		if f.Rows != all[0].Rows {
			err := fmt.Errorf("%s has %d rows and %s has %d: every party must hold the same ids; "+
				"cut the tables to the ids that all have, and propose the job anew",
				all[0].Name, all[0].Rows, f.Name, f.Rows)
			return &faultError{code: codeRows, err: err,
				names: []string{all[0].Name, f.Name}, numbers: []int64{int64(all[0].Rows), int64(f.Rows)}}
		}
	}
	return nil
}

// withData returns the parties that bring rows.
func withData(all []protocol.Facts) []protocol.Facts {
	return slices.DeleteFunc(slices.Clone(all), func(f protocol.Facts) bool { return f.Role == roleHelper })
}

// compared lists what comparing the row ids opens and sends. With data at one party alone there is nothing to compare.
func compared(all []protocol.Facts) (openings []protocol.Opening, operations []protocol.Operation) {
	holders := withData(all)
	if len(holders) < 2 {
		return nil, nil
	}
	for _, f := range holders {
		openings = append(openings, protocol.Opening{
			To: f.Name, Kind: protocol.KindRowset, Count: int64(len(holders) - 1),
			Meaning: "whether the row ids of each other party with data are the same as its own; " +
				"a party that guesses the whole list of another can test its guess",
		})
	}
	return openings, []protocol.Operation{protocol.Rowset()}
}

// compareRows compares the row ids of all parties with data, in the order in which the session computes with them. It
// comes before anything of the data leaves. table is nil at a party without data.
func (r *run) compareRows(ctx context.Context, table *dataset.Table) error {
	c := r.state.contract
	if _, operations := compared(c.Parties); operations == nil {
		return nil
	}
	var digest keys.Hash
	if table != nil {
		digest = table.IDDigest()
	}
	holders := c.Holders()
	differ, err := r.session.CompareRows(ctx, digest, holders)
	if err != nil || table == nil {
		return err
	}
	r.opened(protocol.KindRowset, int64(len(holders)-1))
	if len(differ) == 0 {
		return nil
	}
	var names []string
	for _, i := range differ {
		names = append(names, c.Parties[i].Name)
	}
	self := r.node.nameIn(c)
	err = fmt.Errorf("%s and %s each have %d rows, but not of the same ids, so that nothing was computed: "+
		"make the id columns agree, and propose the job anew", self, several(names), rows(c))
	return &faultError{code: codeRows, err: err, names: []string{self, names[0]}}
}
