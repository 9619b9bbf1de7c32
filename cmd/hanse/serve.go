package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/node"
)

// serveScores agrees on a serving prediction and answers ids from standard input until it ends.
func serveScores(c *cli.Context, client *node.Client, text []byte) error {
	screen := newScreen(c.App.ErrWriter)
	contract, err := agreeOn(c, client, screen, text)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(c.Context)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := client.Launch(ctx, contract, screen.show)
		ended <- err
		cancel() // no more answers come
	}()
	err = answerIDs(ctx, c, client, contract)
	if err == nil {
		_, err = client.Score(ctx, contract, "")
	}
	if err != nil {
		cancel()
	}
	if e := <-ended; e != nil && !errors.Is(e, context.Canceled) {
		return e
	}
	return err
}

// answerIDs prints one line for each id. An id that is not in the table is reported and passed over.
func answerIDs(ctx context.Context, c *cli.Context, client *node.Client, contract string) error {
	w := csv.NewWriter(c.App.Writer)
	lines := bufio.NewScanner(c.App.Reader)
	for lines.Scan() {
		id := strings.TrimSpace(lines.Text())
		if id == "" {
			continue
		}
		row, err := client.Score(ctx, contract, id)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			printError(c.App.ErrWriter, err)
			continue
		}
		w.Write(row)
		w.Flush()
		if err := w.Error(); err != nil {
			return err
		}
	}
	return lines.Err()
}
