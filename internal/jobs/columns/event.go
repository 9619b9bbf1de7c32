package columns

import (
	"fmt"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/vertical"
)

// chooseEvent has the label holder's part of a model read scores as of the rarer class, where the job leaves that to it
// and the labels do not say it, and returns who chose the event. Nothing of it is told: what all parties learn of the
// classes is in one order, whatever the rows are. The same table gives the same choice in every session.
func (t *training) chooseEvent(m *fdskl.Model, labels *joint.Labels) (by string) {
	switch {
	case t.params.Positive != "":
		return jobs.ByJob
	case labels == nil || !sole(t.params, t.member.Name()) || !t.params.ChoosesEvent():
		return jobs.ByOrder
	case dataset.SayTheEvent(labels.Classes):
		return jobs.ByLabel
	}
	m.Turned = vertical.RarerFirst(labels)
	return jobs.ByRows
}

// laterClass returns which of two classes is later in the order of the labels, which a model has them in whose job does
// not say the event. Of one whose job does it goes by the names alone.
func laterClass(m *fdskl.Model) string {
	if m.Params.Positive == "" {
		return m.Classes[1]
	}
	return dataset.LaterClass(m.Classes[0], m.Classes[1])
}

// positiveOf says which of two classes is the event at this party, nil where there are not two.
func positiveOf(m *fdskl.Model, by string) *jobs.Positive {
	if m.Event() == "" {
		return nil
	}
	return &jobs.Positive{Label: m.Params.Label, Class: m.Event(), By: by}
}

// eventText says before anybody consents which class is the event, to the owner of the labels, who proposes.
func (t *training) eventText(table *dataset.Table) (string, error) {
	labels, err := vertical.LabelsOf(table, t.params)
	if err != nil {
		return "", err
	}
	m := &fdskl.Model{Params: t.params, Classes: labels.Classes}
	by := t.chooseEvent(m, labels)
	return fmt.Sprintf("event: %s", positiveOf(m, by)), nil
}
