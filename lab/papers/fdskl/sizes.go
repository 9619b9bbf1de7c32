package fdskl

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/table"
)

// GrowthReport is what the command prints with --json.
type GrowthReport struct {
	Machine string  `json:"machine"`
	Repeat  int     `json:"repeat"`
	Panels  []panel `json:"panels"`
}

// panel is one diagram: the time against one size.
type panel struct {
	Size   string  `json:"size"`
	Fixed  string  `json:"fixed"` // what does not change
	Curves []curve `json:"curves"`
}

// curve is one way to train, measured at several sizes.
type curve struct {
	Name          string  `json:"name"`
	Points        []point `json:"points"`
	Exponent      float64 `json:"exponent"`       // of seconds against size, over the upper half of the points
	BytesExponent float64 `json:"bytes_exponent"` // of the bytes that a passive party sends
}

// point is the fastest of several runs: what else the machine does only ever adds time.
type point struct {
	Size         float64 `json:"size"`
	Seconds      float64 `json:"train_seconds"`
	ClearSeconds float64 `json:"clear_seconds"`
	PassiveBytes int64   `json:"passive_bytes_out"`
}

// GrowthOptions are the choices of RunGrowth.
type GrowthOptions struct {
	Rows         []int
	Features     []int
	Parties      []int
	Iterations   []int
	BaseRows     int
	BaseFeatures int
	ScheduleRows int
	Repeat       int
}

// RunGrowth measures all panels.
func RunGrowth(ctx context.Context, run lab.Run, o GrowthOptions) error {
	if err := lab.AtLeast(1, lab.Number("repeat", o.Repeat)); err != nil {
		return err
	}
	return run.WithProgram(ctx, func(dir string, p *lab.Program) error {
		plans, err := planGrowth(o, dir)
		if err != nil {
			return err
		}
		bench := growthLab{program: p, repeat: o.Repeat, log: run.Log}
		report := GrowthReport{Machine: lab.Machine(), Repeat: bench.repeat}
		for _, plan := range plans {
			p, err := bench.measure(ctx, plan)
			if err != nil {
				return err
			}
			report.Panels = append(report.Panels, p)
		}
		return run.Report(&report)
	})
}

// growthLab measures panels.
type growthLab struct {
	program *lab.Program
	repeat  int
	log     io.Writer
}

// measure measures one panel.
func (l *growthLab) measure(ctx context.Context, plan panelPlan) (panel, error) {
	p := panel{Size: plan.size, Fixed: plan.fixed}
	for _, way := range plan.ways {
		c := curve{Name: way.name}
		for _, size := range plan.sizes {
			at, err := l.point(ctx, size, append(plan.flags(size), way.flags(size)...))
			if err != nil {
				return panel{}, fmt.Errorf("%d %s, %s: %w", size, plan.size, way.name, err)
			}
			fmt.Fprintf(l.log, "%d %s, %s: %.3f s\n", size, plan.size, way.name, at.Seconds)
			c.Points = append(c.Points, at)
		}
		upper := c.Points[(len(c.Points)-1)/2:]
		sizes := lab.Each(upper, func(at point) float64 { return at.Size })
		c.Exponent = lab.Exponent(sizes, lab.Each(upper, func(at point) float64 { return at.Seconds }))
		c.BytesExponent = lab.Exponent(sizes, lab.Each(upper,
			func(at point) float64 { return float64(at.PassiveBytes) }))
		p.Curves = append(p.Curves, c)
	}
	return p, nil
}

// point runs one size several times.
func (l *growthLab) point(ctx context.Context, size int, flags []string) (point, error) {
	var runs []*lab.Trained
	for range l.repeat {
		r, err := l.program.Train(ctx, flags...)
		if err != nil {
			return point{}, err
		}
		runs = append(runs, r)
	}
	return point{
		Size:         float64(size),
		Seconds:      slices.Min(lab.Each(runs, func(r *lab.Trained) float64 { return r.TrainSeconds })),
		ClearSeconds: slices.Min(lab.Each(runs, func(r *lab.Trained) float64 { return r.ClearSeconds })),
		PassiveBytes: runs[0].PassiveBytes(),
	}, nil
}

// Print prints the report for people.
func (r *GrowthReport) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s\ntraining seconds, the fastest of %d runs\n", r.Machine, r.Repeat)
	for _, p := range r.Panels {
		fmt.Fprintf(w, "\n%s\n\n", p.Fixed)
		if err := panelTable(p).Write(w); err != nil {
			return err
		}
	}
	return nil
}

// panelTable lays a panel out, one row for each curve.
func panelTable(p panel) *table.Table {
	head := []string{p.Size}
	for _, at := range p.Curves[0].Points {
		head = append(head, fmt.Sprint(at.Size))
	}
	t := table.New(append(head, "exponent", "of bytes")...)
	for _, c := range p.Curves {
		cells := []string{c.Name}
		for _, at := range c.Points {
			cells = append(cells, fmt.Sprintf("%.2f", at.Seconds))
		}
		t.Add(append(cells, fmt.Sprintf("%.2f", c.Exponent), fmt.Sprintf("%.2f", c.BytesExponent))...)
	}
	return t
}
