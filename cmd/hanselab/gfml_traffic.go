package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
)

// gfmlTrafficCommand measures what sharing a part of the entries saves on the wire.
func gfmlTrafficCommand() *cli.Command {
	return &cli.Command{
		Name:  "gfml-traffic",
		Usage: "bytes on the wire of O-GFML, and with 40, 4 and 1 of 200 entries shared",
		Description: `Runs GFML between processes over TLS, under masks, once for every number of shared entries,
and holds the bytes that clients and servers send against what the paper counts: M numbers
each way for a chosen client. The paper says that M = 40 of D = 200 takes a fifth of
O-GFML's load; it counts neither what servers send each other, nor signatures and masks.

   hanselab gfml-traffic
   hanselab gfml-traffic --servers 6 --clients 10 --rounds 200 --json`,
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "servers", Value: 4, Usage: "`N` servers, on a ring"},
			&cli.IntFlag{Name: "clients", Value: 5, Usage: "`K` clients of each server, 4 of which are chosen in a round"},
			&cli.IntFlag{Name: "rounds", Value: 100, Usage: "`N` rounds"},
			&cli.IntFlag{Name: "features", Value: 200, Usage: "`D` entries of a model"},
			&cli.IntSliceFlag{Name: "entries", Value: cli.NewIntSlice(40, 4, 1),
				Usage: "`M` of them that are shared, beside all"},
			programFlag(),
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object on standard output"},
		},
		Action: runGFMLTraffic,
	}
}

// gfmlTrafficReport is what the command prints with --json.
type gfmlTrafficReport struct {
	Machine  string            `json:"machine"`
	Servers  int               `json:"servers"`
	Clients  int               `json:"clients"` // of each server
	Rounds   int               `json:"rounds"`
	Features int               `json:"d"`
	Rows     []gfmlTrafficWays `json:"rows"` // all entries first
}

// gfmlTrafficWays are the bytes of a round, of all parties together.
type gfmlTrafficWays struct {
	Entries int     `json:"m"`
	Paper   float64 `json:"paper_bytes"`   // to and from clients as the paper counts
	Clients float64 `json:"client_bytes"`  // to and from clients on the wire
	Between float64 `json:"between_bytes"` // between servers on the wire
}

// all is everything on the wire.
func (w gfmlTrafficWays) all() float64 { return w.Clients + w.Between }

// runGFMLTraffic runs a demo for every number of entries.
func runGFMLTraffic(c *cli.Context) (err error) {
	r := &gfmlTrafficReport{Machine: machine(), Servers: c.Int("servers"), Clients: c.Int("clients"),
		Rounds: c.Int("rounds"), Features: c.Int("features")}
	for _, m := range c.IntSlice("entries") {
		if m < 1 || m > r.Features {
			return fmt.Errorf("--entries is %v, want numbers from 1 to %d, the --features", c.IntSlice("entries"), r.Features)
		}
	}
	dir, remove, err := workDir()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	p, err := findProgram(c.Context, c.String("hanse"), dir)
	if err != nil {
		return err
	}
	for _, m := range append([]int{r.Features}, c.IntSlice("entries")...) {
		var run struct {
			Clients []string `json:"clients"`
			Down    float64  `json:"bytes_down"`
			Up      float64  `json:"bytes_up"`
			Between float64  `json:"bytes_between"`
			Paper   float64  `json:"paper_bytes_down"`
			PaperUp float64  `json:"paper_bytes_up"`
		}
		flags := []string{"--algorithm", "gfml"}
		for name, n := range map[string]int{"servers": r.Servers, "clients": r.Clients, "rounds": r.Rounds,
			"features": r.Features, "entries": m} {
			flags = append(flags, "--"+name, strconv.Itoa(n))
		}
		cmd, out, said := p.demoCommand(c.Context, flags)
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("hanse demo %s: %w\n%s", strings.Join(flags, " "), err, lastLines(said.Bytes(), 8))
		}
		if err := json.Unmarshal(out.Bytes(), &run); err != nil || len(run.Clients) == 0 {
			err = errors.Join(err, errors.New("want clients and their bytes"))
			return fmt.Errorf("hanse demo prints no result that can be read: %w", err)
		}
		clients := float64(len(run.Clients))
		r.Rows = append(r.Rows, gfmlTrafficWays{m, clients * (run.Paper + run.PaperUp), clients * (run.Down + run.Up),
			run.Between})
		fmt.Fprintf(c.App.ErrWriter, "M = %d: done\n", m)
	}
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(r)
	}
	return r.print(c.App.Writer)
}

// print prints the bytes of a round, and as shares of O-GFML's.
func (r *gfmlTrafficReport) print(w io.Writer) error {
	fmt.Fprintf(w, "%s\n%d servers with %d clients each, %d rounds, D = %d; bytes of a round, all parties\n\n", r.Machine,
		r.Servers, r.Clients, r.Rounds, r.Features)
	t := newTable("M", "paper", "of O-GFML", "clients", "of O-GFML", "servers", "all", "of O-GFML")
	first := r.Rows[0]
	for _, row := range r.Rows {
		bytes := func(v float64) string { return fmt.Sprintf("%.0f", v) }
		share := func(part, whole float64) string { return fmt.Sprintf("%.3f", part/whole) }
		t.add(fmt.Sprint(row.Entries), bytes(row.Paper), share(row.Paper, first.Paper),
			bytes(row.Clients), share(row.Clients, first.Clients),
			bytes(row.Between), bytes(row.all()), share(row.all(), first.all()))
	}
	return t.write(w)
}
