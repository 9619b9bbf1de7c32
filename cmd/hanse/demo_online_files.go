package main

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/internal/trial/online"
)

// selectionFlags lists the flags of OFMS-FT alone, beside the budget.
func selectionFlags() []cli.Flag {
	return append(fileFlags(),
		&cli.Float64Flag{Name: "step", Usage: "`ETA` of a network's step in ofmsft", DefaultText: "0.05; of --streams 0.001 N/sqrt(T) for N clients"},
		&cli.IntFlag{Name: "window", Usage: "a step of ofmsft is over a client's `N` newest rows", DefaultText: "12; of --streams 1"},
		&cli.IntFlag{Name: "warm-up", Usage: "`N` rounds of ofmsft before the first step"},
		&cli.Float64Flag{Name: "max-importance", Usage: "`CAP` of what a step of ofmsft counts for a network that is seldom stored", DefaultText: "3; of --streams 20"},
		&cli.Float64Flag{Name: "bandwidth", Usage: "`E` of ofmsft's server, in units of the budget: whose steps it does not hold waits for another round", DefaultText: "room for all clients"},
	)
}

// fileFlags lists the flags of own streams and networks.
func fileFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "streams", Usage: "`FOLDER` of CSV files, the stream of a client of ofmsft each (default: generated)"},
		&cli.StringFlag{Name: "networks", Usage: "`FOLDER` of safetensors files, the networks of ofmsft's server for --streams"},
		&cli.StringFlag{Name: "label-range", Usage: "`LOW:HIGH` of the labels in --streams (default: as the files have them)"},
		&cli.Float64Flag{Name: "input-norm", Usage: "the inputs in --streams are divided by this `NUMBER`", DefaultText: "1"},
	}
}

// selectionFlagNames lists the names of selectionFlags.
func selectionFlagNames() []string {
	var names []string
	for _, f := range selectionFlags() {
		names = append(names, f.Names()...)
	}
	return names
}

// checkFileFlags refuses flags of own files that do not go together.
func checkFileFlags(c *cli.Context) error {
	streams := c.IsSet("streams")
	for _, name := range []string{"networks", "label"} {
		if streams && c.String(name) == "" {
			return usagef("--streams wants --networks FOLDER and --label COLUMN with it, --%s is missing", name)
		}
	}
	for _, name := range []string{"networks", "label", "label-range", "input-norm"} {
		if !streams && c.IsSet(name) && c.String("algorithm") == algorithmOFMSFT {
			return usagef("--%s is for own streams, want --streams FOLDER with it", name)
		}
	}
	if streams && c.IsSet("clients") {
		return usagef("--clients is for generated streams: with --streams every file is a client")
	}
	for _, name := range []string{"step", "max-importance", "bandwidth", "input-norm"} {
		if v := c.Float64(name); c.IsSet(name) && (!(v > 0) || math.IsInf(v, 0)) {
			return usagef("--%s is %v, want a positive number", name, v)
		}
	}
	for _, name := range []string{"window", "warm-up"} {
		if n := c.Int(name); c.IsSet(name) && n < 1 {
			return usagef("--%s is %d, want at least 1", name, n)
		}
	}
	_, err := tuningOf(c)
	return err
}

// tuningOf reads the numbers of OFMS-FT that take the place of a trial's own.
func tuningOf(c *cli.Context) (ofmsft.Params, error) {
	p := ofmsft.Params{
		Step: c.Float64("step"), Window: c.Int("window"), WarmUp: c.Int("warm-up"), MaxImportance: c.Float64("max-importance"),
		Bandwidth: c.Float64("bandwidth"), InputNorm: c.Float64("input-norm"),
	}
	if !c.IsSet("label-range") {
		return p, nil
	}
	text := c.String("label-range")
	low, high, ok := strings.Cut(text, ":")
	var errs [2]error
	p.LabelLow, errs[0] = strconv.ParseFloat(low, 64)
	p.LabelHigh, errs[1] = strconv.ParseFloat(high, 64)
	if !ok || errs != [2]error{} || !(p.LabelLow < p.LabelHigh) || math.IsInf(p.LabelHigh-p.LabelLow, 0) {
		return p, usagef("--label-range is %.60q, want LOW:HIGH, two numbers of which the first is smaller", text)
	}
	return p, nil
}

// readSelection makes OFMS-FT's trial.
func (d *onlineDemo) readSelection(o online.Options) (*online.Selection, error) {
	if !d.c.IsSet("streams") {
		return online.NewHouses(o)
	}
	f := online.Files{Streams: d.c.String("streams"), Networks: d.c.String("networks"), Label: d.c.String("label")}
	t, err := online.ReadFiles(d.c.Context, o, f)
	if err != nil {
		return nil, err
	}
	if n := len(t.AllClients()); n < 3 && privacyOf(d.c) == fdskl.Masked {
		return nil, fmt.Errorf("%s has %d streams, want at least 3, so that no sum is one other client's", f.Streams, n)
	}
	return t, nil
}

// tellNetworks tells what the server has.
func (d *onlineDemo) tellNetworks() {
	t, whose := d.selection, "of other towns"
	if d.c.IsSet("streams") {
		whose = "from " + filepath.ToSlash(d.c.String("networks"))
	}
	text := "%d at the server, %s; a client has room for some that cost %.4g together, the largest cost 1"
	d.tell.step("networks", fmt.Sprintf(text, t.Networks(), whose, t.Budget()))
	if !d.c.IsSet("streams") {
		return
	}
	if t.Classes > 0 {
		d.tell.note(fmt.Sprintf("they tell %d classes apart", t.Classes))
		return
	}
	low, high := t.LabelRange()
	if d.c.IsSet("label-range") {
		d.tell.note(fmt.Sprintf("labels from %.6g to %.6g, which errors are measured in", low, high))
		return
	}
	d.tell.note(fmt.Sprintf("labels from %.6g to %.6g, as the files have them, which errors are measured in; a real federation states the range in its job, since nobody sees all labels", low, high))
}

// note adds a line to a chapter.
func (t *narrator) note(text string) { fmt.Fprintf(t.w, "    %s\n", text) }
