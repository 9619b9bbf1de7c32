package audit

import (
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/protocol"
)

// phrases are how passed checks read, which depends on how a job's parties go together.
type phrases struct {
	sessions   string // after their number
	operations string
	egress     string
	unsigned   string // why frames are not signed
}

// phrases returns those of the job.
func (x *examiner) phrases() phrases {
	if x.served == nil {
		return phrases{
			sessions:   ", each begun with fresh session keys of all parties",
			operations: "every operation is one that the contract lists, in the order of its stages and along its plan",
			egress:     "nothing was sent that the contract does not list or that is over its budget",
			unsigned:   "the session broke off",
		}
	}
	return phrases{
		sessions:   ", with a fresh session key of every client that took part",
		operations: "every message is one that the contract lists, goes where it should, and comes in the order of its sum",
		egress:     "nothing was sent or came that the contract does not list or that is over its budget",
		unsigned:   "a client was gone before the end, or the link is not one between server and client",
	}
}

// openingsPassed says what opened to this party.
func (x *examiner) openingsPassed() Check {
	c := Check{Name: checkOpenings, Detail: "no total opened to this party"}
	if f := x.served.report(); f != nil {
		c.Detail = f.sentence()
	}
	return c
}

// sentence says in words what a server's sums were.
func (f *Federation) sentence() string { return f.Server + " " + f.deeds() }

// deeds is sentence without the server's name.
func (f *Federation) deeds() string {
	text := fmt.Sprintf("began %s over %s; %d opened", counted(f.Sums, "sum"), counted(uint64(f.Clients), "client"), f.Opened)
	if f.Opened > 0 {
		text += fmt.Sprintf(", with %d contributors at least and %d in the median, %s", f.Fewest, f.Median, f.Counted)
	}
	if f.Mixtures > 0 {
		text += fmt.Sprintf("; of other servers' models it began %s, and %d opened, with at least %s in each",
			counted(f.Mixtures, "sum"), f.MixturesOpened, counted(uint64(f.MixturesFewest), "vector"))
	}
	if n := len(f.Dropouts); n > 0 {
		text += fmt.Sprintf("; %s was lost on the way, %s most often, in %s", counted(uint64(n), "client"), f.Dropouts[0].Client, counted(f.Dropouts[0].Sums, "sum"))
	}
	if f.Questions > 0 {
		text += fmt.Sprintf("; to %s it heard %s, each under its client's name", counted(f.Questions, "question"), counted(f.Answers, "answer"))
	}
	if f.Silent > 0 {
		text += fmt.Sprintf(", and missed %d", f.Silent)
	}
	return text
}

// lines leaves out of a budget what can have no place: messages to parties without a link, of which none was sent.
func (s *served) lines(all []Egress) []Egress {
	return slices.DeleteFunc(all, func(e Egress) bool {
		return e.Frames == 0 && (e.Kind == protocol.KindSessionKey || s.kin[slices.Index(s.names, e.To)] == unrelated)
	})
}
