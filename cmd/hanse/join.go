package main

import "github.com/urfave/cli/v2"

// joinCommand is filled in next.
func joinCommand() *cli.Command { return &cli.Command{Name: "join"} }
