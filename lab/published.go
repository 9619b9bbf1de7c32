package lab

import "fmt"

// Published is a published number with its deviation; 0 when none is given.
type Published struct {
	Value     float64 `json:"value"`
	Deviation float64 `json:"sd,omitempty"`
}

// Cited is a figure as it is printed; a deviation of 0 is none.
func Cited(value, deviation float64) Published { return Published{value, deviation} }

// Text writes a published figure, nothing if there is none.
func (f *Published) Text() string {
	switch {
	case f == nil:
		return ""
	case f.Deviation == 0:
		return fmt.Sprintf("%.2f", f.Value)
	}
	return fmt.Sprintf("%.2f ± %.2f", f.Value, f.Deviation)
}

// Clients renders a published figure with its deviation over clients, nothing if there is none.
func (f *Published) Clients() string {
	switch {
	case f == nil:
		return ""
	case f.Deviation == 0:
		return fmt.Sprintf("%.2f", f.Value)
	}
	return fmt.Sprintf("%.2f (%.2f)", f.Value, f.Deviation)
}

// OffBy renders how far a value is from a published figure.
func (f *Published) OffBy(v float64) string {
	if f == nil {
		return ""
	}
	return fmt.Sprintf("%+.2f", v-f.Value)
}
