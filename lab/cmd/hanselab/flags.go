package main

import (
	"context"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/lab"
)

// command is a struct of choices that flags fill in, and the experiment that is called with it.
func command[O any](
	choices *O, run func(context.Context, lab.Run, O) error, name, usage, description string, flags ...cli.Flag,
) *cli.Command {
	return &cli.Command{
		Name: name, Usage: usage, Description: description, Flags: flags,
		Action: func(c *cli.Context) error {
			return run(c.Context, lab.Run{
				In: c.App.Reader, Out: c.App.Writer, Log: c.App.ErrWriter, JSON: c.Bool("json"), Plot: c.String("plot"),
				Program: c.String("hanse"), Given: c.IsSet,
			}, *choices)
		},
	}
}

func number(name string, to *int, value int, usage string) cli.Flag {
	return &cli.IntFlag{Name: name, Destination: to, Value: value, Usage: usage}
}

func real(name string, to *float64, value float64, usage string) cli.Flag {
	return &cli.Float64Flag{Name: name, Destination: to, Value: value, Usage: usage}
}

func text(name string, to *string, value, usage string) cli.Flag {
	return &cli.StringFlag{Name: name, Destination: to, Value: value, Usage: usage}
}

func yes(name string, to *bool, usage string) cli.Flag {
	return &cli.BoolFlag{Name: name, Destination: to, Usage: usage}
}

func duration(name string, to *time.Duration, value time.Duration, usage string) cli.Flag {
	return &cli.DurationFlag{Name: name, Destination: to, Value: value, Usage: usage}
}

func numbers(name string, to *[]int, usage string, values ...int) cli.Flag {
	*to = values
	return &cli.IntSliceFlag{Name: name, Value: cli.NewIntSlice(values...), Usage: usage, Action: into(to)}
}

func reals(name string, to *[]float64, usage string, values ...float64) cli.Flag {
	*to = values
	return &cli.Float64SliceFlag{Name: name, Value: cli.NewFloat64Slice(values...), Usage: usage, Action: into(to)}
}

func words(name string, to *[]string, usage string, values ...string) cli.Flag {
	*to = values
	return &cli.StringSliceFlag{Name: name, Value: cli.NewStringSlice(values...), Usage: usage, Action: into(to)}
}

// into keeps a list that was given.
func into[T any](to *[]T) func(*cli.Context, []T) error {
	return func(_ *cli.Context, values []T) error {
		*to = values
		return nil
	}
}

func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print one JSON object on standard output"}
}

func plotFlag(what string) cli.Flag {
	return &cli.StringFlag{Name: "plot", Usage: "draw " + what + " in this `FOLDER`"}
}

// dataFlag names the folder of the data sets, which must be given where none is found.
func dataFlag(to *string, with string) cli.Flag {
	found := lab.DataFolder()
	return &cli.StringFlag{Name: "data", Destination: to, Value: found, Required: found == "", DefaultText: dataDefault,
		Usage: "`FOLDER` with " + with}
}

// optionalData is dataFlag of a command that can do without.
func optionalData(to *string, with string) cli.Flag {
	return &cli.StringFlag{Name: "data", Destination: to, Value: lab.DataFolder(), DefaultText: dataDefault,
		Usage: "`FOLDER` with " + with}
}

// dataDefault says what lab.DataFolder returns.
const dataDefault = "$HANSE_DATA, else shared/data beside the checkout"

// rowsFlag cuts sets to size.
func rowsFlag(to *int) cli.Flag {
	return number("rows", to, 0, "keep the first `N` rows of each file (default: all that the program reads)")
}

// programFlag chooses the program to measure.
func programFlag() cli.Flag {
	return &cli.StringFlag{Name: "hanse",
		DefaultText: "hanse beside hanselab, else on PATH, else built from the checkout that hanselab was started in",
		Usage: "measure the `PROGRAM` at this path; one that is older than the sources gives figures of then, " +
			"as if they were today's"}
}
