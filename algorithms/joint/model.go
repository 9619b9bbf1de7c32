package joint

// Reading is how a party's table was read, as its owner chose: new rows and an audit are to read as the training did.
// Zero fields were not chosen.
type Reading struct {
	ID          string            `cbor:"1,keyasint,omitempty"`  // the id column
	Categorical []string          `cbor:"2,keyasint,omitempty"`  // columns that hold codes or texts
	Missing     string            `cbor:"3,keyasint,omitempty"`  // what missing cells became
	NA          []string          `cbor:"4,keyasint,omitempty"`  // what stands for a missing cell beside the empty one
	NAChosen    bool              `cbor:"5,keyasint,omitempty"`  // NA was chosen, be it that nothing else does
	Columns     []string          `cbor:"6,keyasint,omitempty"`  // the only columns that jobs may use
	Ignore      []string          `cbor:"7,keyasint,omitempty"`  // columns that jobs may not use
	Levels      string            `cbor:"8,keyasint,omitempty"`  // what becomes of levels that training never saw
	Dates       string            `cbor:"9,keyasint,omitempty"`  // how dates are read that could be read in two ways
	DateOrders  map[string]string `cbor:"10,keyasint,omitempty"` // which columns were dates, and how they were read
	Delimiter   string            `cbor:"11,keyasint,omitempty"` // what separated the columns
	Decimal     string            `cbor:"12,keyasint,omitempty"` // what stood before the decimals
	Thousands   string            `cbor:"13,keyasint,omitempty"` // what stood between thousands
	Units       []string          `cbor:"14,keyasint,omitempty"` // what was taken off numbers
}
