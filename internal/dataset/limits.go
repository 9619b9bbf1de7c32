package dataset

// limits bound what one file may ask for. They are a value so that tests can lower them.
type limits struct {
	rows    int   // data rows
	columns int   // columns, those of id and label included
	cells   int   // rows times columns, as kept in memory: eight bytes each
	cell    int   // bytes of one CSV cell
	record  int   // bytes of one row of text
	levels  int   // different texts in one categorical column, as many as 16 bits count
	text    int64 // bytes of the whole file after decompression
}

// standardLimits fit files that one machine can train on, and stop a gzip bomb early.
func standardLimits() limits {
	return limits{
		rows:    1 << 24,
		columns: 1 << 16,
		cells:   1 << 28,
		cell:    4 << 10,
		record:  4 << 20,
		levels:  4 << 10,
		text:    16 << 30,
	}
}

// maxMagnitude is the largest absolute value of a cell: squares and sums over all rows of what
// is accepted stay finite in float64.
const maxMagnitude = 1e100
