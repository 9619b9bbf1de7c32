package figures

import "fmt"

// Class is what became of the rows of one class.
type Class struct {
	Name      string    `json:"name"`
	Rows      int       `json:"rows"`
	Said      []int     `json:"said"` // how many of them were said to be of each class
	Recall    *Estimate `json:"recall,omitempty"`
	Precision *Estimate `json:"precision,omitempty"`
}

// Several is the figures of three or more classes.
type Several struct {
	Rows    int      `json:"rows"`
	Error   Estimate `json:"error"`
	Classes []Class  `json:"classes"`
	// mean recall of the classes that have rows
	MeanRecall float64 `json:"mean_recall"`
}

// Said returns, for each row, the class with the largest score, the first of equal ones. scores is row-major
// [rows][classes].
func Said(scores []float64, classes int) []int {
	said := make([]int, len(scores)/classes)
	for i := range said {
		row := scores[i*classes : (i+1)*classes]
		for k, s := range row {
			if s > row[said[i]] {
				said[i] = k
			}
		}
	}
	return said
}

// OfSeveral makes the figures of classes of which a row has the one with the largest score. labels are numbers of
// classes, scores row-major [rows][classes].
func OfSeveral(names []string, labels []int, scores []float64) (*Several, error) {
	if len(scores) != len(labels)*len(names) {
		return nil, fmt.Errorf("there are %d scores for %d rows of %d classes", len(scores), len(labels), len(names))
	}
	if err := finite(scores); err != nil {
		return nil, err
	}
	return OfSaid(names, labels, Said(scores, len(names)))
}

// OfSaid is OfSeveral for rows that were said to be of a class.
func OfSaid(names []string, labels, said []int) (*Several, error) {
	if len(labels) == 0 || len(labels) != len(said) {
		return nil, fmt.Errorf("there are %d labels and %d answers: want one for each row", len(labels), len(said))
	}
	s := &Several{Rows: len(labels)}
	for _, name := range names {
		s.Classes = append(s.Classes, Class{Name: name, Said: make([]int, len(names))})
	}
	wrong, times := 0, make([]int, len(names)) // how often a class was said
	for i, y := range labels {
		if y < 0 || y >= len(names) || said[i] < 0 || said[i] >= len(names) {
			return nil, fmt.Errorf("row %d is of class %d and was said to be of %d: there are %d, from 0", i+1, y, said[i],
				len(names))
		}
		s.Classes[y].Rows++
		s.Classes[y].Said[said[i]]++
		times[said[i]]++
		if y != said[i] {
			wrong++
		}
	}
	s.Error = *Share(float64(wrong), float64(len(labels)))
	there := 0
	for k := range s.Classes {
		c := &s.Classes[k]
		c.Recall = Share(float64(c.Said[k]), float64(c.Rows))
		c.Precision = Share(float64(c.Said[k]), float64(times[k]))
		if c.Recall != nil {
			there++
			s.MeanRecall += c.Recall.Value
		}
	}
	s.MeanRecall /= float64(there)
	return s, nil
}
