package he

import "github.com/hanse-project/hanse/secagg"

// NewFixed is NewSigned for the words of fixed-point numbers in the encoding f. vector names them in
// errors.
func (s *Scheme) NewFixed(vector string, f secagg.Fixed, addends, holders int) (*Packing, error) {
	if err := f.Check(vector, addends); err != nil {
		return nil, err
	}
	return s.NewSigned(f.Most(), addends, holders)
}
