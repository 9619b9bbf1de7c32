package vertical

import (
	"slices"
	"testing"

	"github.com/hanse-project/hanse/internal/dataset"
)

// TestACodeWrittenAsAFloatIsUnseen documents what happens: codes 1 to 3 of the training come back as 1.0 to 3.0, and no
// row of the new ones has a code that the model knows.
func TestACodeWrittenAsAFloatIsUnseen(t *testing.T) {
	train := "id,code,age\na,1,10\nb,2,20\nc,3,30\n"
	_, m := trained(t, train, dataset.Options{Categorical: []string{"code"}})
	plain, err := scored(t, train, m)
	if err != nil {
		t.Fatal(err)
	}
	floats, err := scored(t, "id,code,age\na,1.0,10\nb,2.0,20\nc,3.0,30\n", m)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(plain.Set, []uint16{0, 1, 2}) || len(floats.Set) > 0 {
		t.Errorf("codes %v, the same as floats %v", plain.Set, floats.Set)
	}
}
