package jobs

import (
	"fmt"

	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/ids"
	"github.com/hanse-project/hanse/keys"
)

// Looks says what the ids in the named table look like, of what was read of it last: those in the columns of
// identifiers, under their recipes, or, without any, those of its id column as they stand. It is for the table's owner,
// and nobody else. nil where the table has not been read, or has no such columns.
func (t *Tables) Looks(name string, identifiers []keys.Identifier) []*dataset.IDLook {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.Read[name]
	if r == nil {
		return nil
	}
	key := fmt.Sprintf("%+v", identifiers)
	all, known := r.looked[key]
	if !known { // a person may ask often, and a table may be long
		if r.looked == nil {
			r.looked = make(map[string][]*dataset.IDLook)
		}
		all = looks(r.file, identifiers)
		r.looked[key] = all
	}
	return all
}

// looks is Looks for a reading. Dates are not looked at: what is none has no id.
func looks(r *dataset.Reading, identifiers []keys.Identifier) []*dataset.IDLook {
	if len(identifiers) == 0 {
		if look := r.LookAtIDs(); look != nil {
			return []*dataset.IDLook{look}
		}
		return nil
	}
	var all []*dataset.IDLook
	for _, id := range identifiers {
		recipe, err := ids.New(keys.Hash{}, id, 0)
		if err != nil {
			continue
		}
		for i, column := range id.Columns {
			if column.Date != "" {
				continue
			}
			look, err := r.LookAt(column.Name, func(a, b string) bool { return recipe.Alike(i, a, b) })
			if err == nil {
				all = append(all, look)
			}
		}
	}
	return all
}

// Doubts are the sentences about ids that other members may write otherwise.
func Doubts(all []*dataset.IDLook) []string {
	var says []string
	for _, look := range all {
		if len(look.Doubts) > 0 {
			says = append(says, look.Sentences()...)
		}
	}
	return says
}
