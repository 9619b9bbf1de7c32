package audit

import (
	"fmt"
	"strings"

	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/psi"
)

// announced says in plain words what can be rebuilt or is unprotected, of what the contract had announced.
func (a *account) announced() string {
	const clause = ", as the contract had announced"
	if len(a.report.Federations) > 0 {
		text := "Totals over clients opened" + clause + ": " + a.federations() + "."
		return text + more(a.gains(finding.Disclosed, func(string) bool { return true }))
	}
	list := a.readable()
	for _, c := range a.report.Checks {
		if c.Verdict == finding.Disclosed {
			list = append(list, c.Name+": "+c.Detail)
		}
	}
	if len(list) == 0 {
		return "Something follows from what opens" + clause + "."
	}
	first, figures, _ := strings.Cut(list[0], ": ")
	list[0] = first + clause
	if figures != "" {
		list[0] += ": " + figures
	}
	return capital(sentences(list[0], nil)) + more(list[1:])
}

func more(list []string) string {
	text := ""
	for _, s := range list[:min(3, len(list))] {
		text += " " + capital(s) + "."
	}
	if n := len(list) - 3; n > 0 {
		text += fmt.Sprintf(" And %d more, listed below.", n)
	}
	return text
}

// federations says what the servers whose transcripts were read have summed, once for those that did the same.
func (a *account) federations() string {
	var done []string
	by := make(map[string][]string) // what was done: the servers
	for i := range a.report.Federations {
		f := &a.report.Federations[i]
		if by[f.Deeds()] == nil {
			done = append(done, f.Deeds())
		}
		by[f.Deeds()] = append(by[f.Deeds()], f.Server)
	}
	for i, deeds := range done {
		names := by[deeds]
		if last := len(names) - 1; last > 0 {
			done[i] = fmt.Sprintf("%s and %s each %s", strings.Join(names[:last], ", "), names[last], deeds)
		} else {
			done[i] = names[0] + " " + deeds
		}
	}
	return strings.Join(done, "; ")
}

// readable says who can read what: from the rows that an attack rebuilt, from what an attack foretold, and from what
// opened where no attack was tried. Figures stand behind a colon.
func (a *account) readable() []string {
	var list []string
	told := make(map[string]bool)
	add := func(party, text string) {
		if !told[party] {
			told[party] = true
			list = append(list, text)
		}
	}
	for _, t := range a.report.Attacks {
		if t.Verdict == finding.Disclosed && t.Name == "difference" {
			text := fmt.Sprintf("%s can read the others' rows", t.Party)
			if t.RecoveredShare != nil {
				text += fmt.Sprintf(": the attack rebuilt %.1f %% of %d rows of %s", 100**t.RecoveredShare, t.Rows, t.Whose)
			}
			add(t.Party, text)
		}
	}
	for _, t := range a.report.Attacks {
		if t.Verdict == finding.Disclosed {
			add(t.Party, fmt.Sprintf("who sees what %s sees and knows some rows can foretell the others", t.Party))
		}
	}
	for _, l := range a.report.Ledger {
		switch {
		case l.Verdict != finding.Disclosed:
		case l.Kind == evidence.OpeningAngles && l.Features > 0:
			add(l.Party, fmt.Sprintf("%s can compute the others' rows from the angles that open to it", l.Party))
		}
	}
	return append(list, a.learned(told)...)
}

// learned says which other values with consequences opened to whom, those that open to several at once in one sentence.
// Nothing is said of parties in told.
func (a *account) learned(told map[string]bool) []string {
	var order []string
	who := make(map[string][]string)
	for _, l := range a.report.Ledger {
		if l.Verdict != finding.Disclosed || told[l.Party] || l.Kind == evidence.OpeningAngles {
			continue
		}
		if who[l.Plain] == nil {
			order = append(order, l.Plain)
		}
		who[l.Plain] = append(who[l.Plain], l.Party)
	}
	var list []string
	for _, what := range order {
		verb := "learns"
		if len(who[what]) > 1 {
			verb = "learn"
		}
		list = append(list, fmt.Sprintf("%s %s %s", several(who[what]), verb, what))
	}
	return list
}

// phrase is how a report calls the values of one kind of opening.
type phrase struct {
	one, many string // what one is called, and what several are
	plain     string // what they are, and what follows from them
}

// phraseOf says in the words of somebody who knows nothing of the method what values of a kind are, and what follows
// from them. It is the one table of such words; of a kind that it lacks the kind's name and the contract's own words,
// meaning, are taken.
func phraseOf(job *contract.Job, kind, meaning string) phrase {
	clear := job.Privacy == keys.PrivacyPublished
	switch kind {
	case evidence.OpeningAngles:
		return phrase{"angle", "angles",
			"numbers that each mix all columns of one row; from enough of them one computes how " +
				"any two rows differ in every column of the others"}
	case evidence.OpeningPartialAngles:
		return phrase{"partial angle", "partial angles",
			"such mixtures of some parties' columns alone, under masks that repeat: " +
				"how any two rows differ follows exactly"}
	case evidence.OpeningScores:
		if job.Task == contract.TaskPredict {
			return phrase{"score", "scores",
				"the model's results for the rows asked about, which the job is for"}
		}
		return phrase{"score", "scores", "what the model, while it learns, says of rows that it learns from"}
	case evidence.OpeningDerivatives:
		return phrase{"error of a row", "errors of rows",
			"how far the model is off at each row while it learns; the label of the row follows"}
	case "distances":
		return phrase{"distance", "distances",
			"one number over all rows: how far apart two rows are on average"}
	case "width":
		return phrase{"width", "widths", "one number: how finely the model tells rows apart"}
	case "bound":
		return phrase{"order of magnitude", "orders of magnitude",
			"one number over all rows: how alike the rows are on the whole, rounded at random to a power of two"}
	case evidence.OpeningReach:
		return phrase{"order of magnitude", "orders of magnitude",
			"how alike the rows are on the whole, rounded at random to a power of two"}
	case "validation":
		return phrase{"best candidate", "best candidates", "which strength of smoothing does best on the rows kept out"}
	case evidence.OpeningLambda:
		return phrase{"choice of a candidate", "choices of candidates", "which strength of smoothing is taken"}
	case evidence.OpeningCheck:
		return phrase{"number that checks the steps", "numbers that check the steps",
			"whether the model was computed as agreed; when it was, they are rounding and tell nothing of rows"}
	case evidence.OpeningProgress, evidence.OpeningPace:
		return phrase{"answer about the steps", "answers about the steps",
			"whether another step of the solver follows, one answer over all rows"}
	case "products":
		return phrase{"total", "totals", "totals over all rows that the arithmetic needs at each step"}
	case "labelled":
		return phrase{"mark of a row", "marks of rows", "which rows each label holder has a label for"}
	case "class names":
		return phrase{"class name", "class names", "what the two classes of the label are called"}
	case "target moments":
		return phrase{"number on the label", "numbers on the label",
			"the mean and the spread of the label over all rows"}
	case psi.OpensSize:
		return phrase{"number of common rows", "numbers of common rows", meaning}
	case psi.OpensRows:
		return phrase{"common row", "common rows", meaning}
	case contract.KindRowset:
		return phrase{"comparison of row ids", "comparisons of row ids",
			"whether the other parties' tables hold the same row ids, yes or no"}
	case "updates", "uploads":
		if clear {
			return phrase{"number of an update", "numbers of updates",
				"what each single client's rows made of the model, round by round: the rows can be computed from it"}
		}
		meaning := "sums over clients of what their rows made of the model, round by round"
		if common, _ := job.Parameters["common_bin"].(bool); !common {
			meaning += "; of a part that few clients work on, one client's alone, without its name"
		}
		return phrase{"number of a sum", "numbers of sums", meaning}
	case "model":
		return phrase{"part of the model", "parts of the model",
			"the model as all clients' rows have made it so far"}
	case "diffusion":
		return phrase{"number of a neighbourhood's sum", "numbers of a neighbourhood's sums",
			"weighted sums of several other servers' models, and no single one"}
	case "psi", "psi-prime":
		return phrase{"number of a neighbour's model", "numbers of neighbours' models",
			"the models of neighbouring servers, as their clients' rows have made them so far"}
	case "choice":
		return phrase{"choice", "choices", "which networks each single client stores, under the client's name"}
	case "round":
		return phrase{"list of fingerprints", "lists of fingerprints",
			"fingerprints of all networks in each round, which tell the networks that changed"}
	case "turn":
		return phrase{"word on its turn", "words on its turn",
			"whether the client is in a round's group, and how many groups there are"}
	case "step":
		return phrase{"list of others", "lists of others", "which other clients are in a round's group"}
	}
	return phrase{"value of the kind " + kind, "values of the kind " + kind, meaning}
}
