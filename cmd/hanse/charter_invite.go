package main

import "github.com/urfave/cli/v2"

func charterProposeCommand() *cli.Command { return &cli.Command{Name: "propose"} }
func charterInviteCommand() *cli.Command  { return &cli.Command{Name: "invite"} }
