package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/urfave/cli/v2"
)

// growthCommand measures how the time grows.
func growthCommand() *cli.Command {
	return &cli.Command{
		Name:  "growth",
		Usage: "training time against rows, features, parties and iterations, on generated data",
		Description: `Runs hanse demo on the generated credit data set, changes one size at a time, and fits
the exponent of the time's growth over the upper half of each curve, where start-up
costs no longer count. Draws the curves with two logarithmic axes.

   hanselab growth --plot docs
   hanselab growth --rows 2048,4096,8192 --repeat 1 --json`,
		Flags: []cli.Flag{
			&cli.IntSliceFlag{Name: "rows", Value: cli.NewIntSlice(2048, 4096, 8192, 16384, 32768, 65536), Usage: "training `ROWS`"},
			&cli.IntSliceFlag{Name: "features", Value: cli.NewIntSlice(128, 256, 512, 1024, 2048, 4096), Usage: "random `FEATURES`"},
			&cli.IntSliceFlag{Name: "parties", Value: cli.NewIntSlice(3, 4, 8, 16), Usage: "numbers of `PARTIES`; masked sums need three"},
			&cli.IntSliceFlag{Name: "iterations", Value: cli.NewIntSlice(64, 128, 256, 512, 1024, 2048, 4096), Usage: "`ITERATIONS` of the doubly stochastic schedule"},
			&cli.IntFlag{Name: "base-rows", Value: 16384, Usage: "training `ROWS` where features and parties change"},
			&cli.IntFlag{Name: "base-features", Value: 1024, Usage: "`FEATURES` where rows and parties change"},
			&cli.IntFlag{Name: "schedule-rows", Value: 2048, Usage: "training `ROWS` where iterations change"},
			&cli.IntFlag{Name: "repeat", Value: 3, Usage: "runs of each point, of which the fastest counts"},
			&cli.StringFlag{Name: "plot", Usage: "draw growth.svg and growth.png in this `FOLDER`"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object on standard output"},
			programFlag(),
		},
		Action: runGrowth,
	}
}

// growthReport is what the command prints with --json.
type growthReport struct {
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

// runGrowth measures all panels.
func runGrowth(c *cli.Context) (err error) {
	if c.Int("repeat") < 1 {
		return fmt.Errorf("--repeat is %d, want at least 1", c.Int("repeat"))
	}
	dir, remove, err := workDir()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	lab := growthLab{repeat: c.Int("repeat"), log: c.App.ErrWriter}
	report := growthReport{Machine: machine(), Repeat: lab.repeat}
	if lab.program, err = findProgram(c.Context, c.String("hanse"), dir); err != nil {
		return err
	}
	plans, err := planGrowth(c, dir)
	if err != nil {
		return err
	}
	for _, plan := range plans {
		p, err := lab.measure(c.Context, plan)
		if err != nil {
			return err
		}
		report.Panels = append(report.Panels, p)
	}
	if folder := c.String("plot"); folder != "" {
		if err := drawGrowth(folder, report.Panels); err != nil {
			return err
		}
	}
	return report.print(c.App.Writer, c.Bool("json"))
}

// growthLab measures panels.
type growthLab struct {
	program *program
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
		c.Exponent = exponent(upper, func(at point) float64 { return at.Seconds })
		c.BytesExponent = exponent(upper, func(at point) float64 { return float64(at.PassiveBytes) })
		p.Curves = append(p.Curves, c)
	}
	return p, nil
}

// point runs one size several times.
func (l *growthLab) point(ctx context.Context, size int, flags []string) (point, error) {
	var runs []*demoRun
	for range l.repeat {
		r, err := l.program.demo(ctx, flags...)
		if err != nil {
			return point{}, err
		}
		runs = append(runs, r)
	}
	return point{
		Size:         float64(size),
		Seconds:      slices.Min(each(runs, func(r *demoRun) float64 { return r.TrainSeconds })),
		ClearSeconds: slices.Min(each(runs, func(r *demoRun) float64 { return r.ClearSeconds })),
		PassiveBytes: runs[0].passiveBytes(),
	}, nil
}

// print prints the report for people or for programs.
func (r *growthReport) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	fmt.Fprintf(w, "%s\ntraining seconds, the fastest of %d runs\n", r.Machine, r.Repeat)
	for _, p := range r.Panels {
		fmt.Fprintf(w, "\n%s\n\n", p.Fixed)
		if err := panelTable(p).write(w); err != nil {
			return err
		}
	}
	return nil
}

// panelTable lays a panel out, one row for each curve.
func panelTable(p panel) *table {
	head := []string{p.Size}
	for _, at := range p.Curves[0].Points {
		head = append(head, fmt.Sprint(at.Size))
	}
	t := newTable(append(head, "exponent", "of bytes")...)
	for _, c := range p.Curves {
		cells := []string{c.Name}
		for _, at := range c.Points {
			cells = append(cells, fmt.Sprintf("%.2f", at.Seconds))
		}
		t.add(append(cells, fmt.Sprintf("%.2f", c.Exponent), fmt.Sprintf("%.2f", c.BytesExponent))...)
	}
	return t
}
