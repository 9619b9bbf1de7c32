package credit

import (
	"fmt"
	"math/rand/v2"

	"github.com/hanse-project/hanse/internal/dataset"
)

// Label is the name of the bank's label column: 1 for people who defaulted, else 0.
const Label = "default"

// orderStream is the second word of the generator that shuffles the first firm's rows; the next
// firms' follow. No person's generator has it.
const orderStream = 0x6f72646572000000 // "order"

// Part is one firm's data.
type Part struct {
	Name  string         // "bank", "insurer", "telco" or "retailer"
	Table *dataset.Table // its Path is the name with ".csv"
}

// MaxPeople is how many people a command may ask for: their tables are some 3 GB in memory.
const MaxPeople = 10_000_000

// Generate returns the tables of the bank, which has the label, the insurer, the telco and the
// retailer, in this order. All hold the same people, P000001 and on, each in an order of its own.
// The result depends on the arguments only, and the first of many people are the same as when
// there are fewer. It panics when people is negative.
func Generate(people int, seed uint64) []Part {
	firms := []party{
		{"bank", bank()},
		{"insurer", insurer()},
		{"telco", telco()},
		{"retailer", retailer()},
	}
	tables := make([]*dataset.Table, len(firms))
	for i, f := range firms {
		tables[i] = emptyTable(f, people)
	}
	label := make([]float64, people)
	for i := range people {
		// Returns the i-th person of a seed, the same however many others there are.
		p := &person{draw: rand.New(rand.NewPCG(seed, golden*uint64(i+1)))}
		p.wealth = p.draw.NormFloat64()
		p.care = p.mix(0.2, p.wealth)
		p.roots = p.mix(0.25, p.care)
		p.strain = p.mix(-0.25, p.wealth)
		p.appetite = p.mix(0.25, p.wealth)
		if p.risk()+noise*p.draw.NormFloat64() > threshold {
			label[i] = 1
		}
		for f, firm := range firms {
			for c, feature := range firm.features {
				set(&tables[f].Columns[c], i, feature.of(p))
			}
		}
	}
	tables[0].Columns = append(tables[0].Columns, dataset.Column{Name: Label, Values: label})

	// Gives each firm's rows an order of their own.
	parts := make([]Part, len(firms))
	for i, f := range firms {
		draw := rand.New(rand.NewPCG(seed, orderStream+uint64(i)))
		parts[i] = Part{Name: f.name, Table: tables[i].Select(draw.Perm(tables[i].Rows()))}
	}
	return parts
}

// emptyTable has the ids of all people, and a column for each feature.
func emptyTable(firm party, people int) *dataset.Table {
	t := &dataset.Table{Path: firm.name + ".csv", IDName: "id", IDs: make([]string, people)}
	for i := range t.IDs {
		t.IDs[i] = fmt.Sprintf("P%06d", i+1)
	}
	for _, f := range firm.features {
		c := dataset.Column{Name: f.name, Levels: f.levels}
		if f.levels == nil {
			c.Values = make([]float64, people)
		} else {
			c.Kind = dataset.Categorical
			c.Codes = make([]int32, people)
		}
		t.Columns = append(t.Columns, c)
	}
	return t
}

// set puts a feature's value into a row.
func set(c *dataset.Column, row int, v float64) {
	if c.Kind == dataset.Categorical {
		c.Codes[row] = int32(v)
	} else {
		c.Values[row] = v
	}
}
