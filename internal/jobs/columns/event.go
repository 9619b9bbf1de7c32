package columns

import (
	"fmt"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/vertical"
)

// chooseEvent says whether the label holder reads scores as of the rarer class, where the job leaves that to it and the
// labels do not say it, and who chose the event. Nothing of it is told: what all parties learn of the classes is in one
// order, whatever the rows are. The same table gives the same choice in every session.
func (t *training) chooseEvent(labels *joint.Labels) (turned bool, by string) {
	switch {
	case t.goal.Positive != "":
		return false, jobs.ByJob
	case labels == nil || !t.sole() || !t.goal.Chooses:
		return false, jobs.ByOrder
	case dataset.SayTheEvent(labels.Classes):
		return false, jobs.ByLabel
	}
	return vertical.RarerFirst(labels), jobs.ByRows
}

// laterClass returns which of two classes is later in the order of the labels, which a model has them in whose job does
// not say the event. Of one whose job does it goes by the names alone.
func laterClass(m *joint.Model) string {
	if m.Goal.Positive == "" {
		return m.Classes[1]
	}
	return dataset.LaterClass(m.Classes[0], m.Classes[1])
}

// positiveOf says which of two classes is the event at this party, nil where there are not two.
func positiveOf(m *joint.Model, by string) *jobs.Positive {
	if m.Event() == "" {
		return nil
	}
	return &jobs.Positive{Label: m.Goal.Label, Class: m.Event(), By: by}
}

// eventText says before anybody consents which class is the event, to the owner of the labels, who proposes.
func (t *training) eventText(table *dataset.Table) (string, error) {
	labels, err := vertical.LabelsOf(table, t.goal)
	if err != nil {
		return "", err
	}
	m := &joint.Model{Goal: t.goal, Classes: labels.Classes}
	turned, by := t.chooseEvent(labels)
	m.Turned = turned
	return fmt.Sprintf("event: %s", positiveOf(m, by)), nil
}
