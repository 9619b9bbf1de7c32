package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/charterfile"
	"github.com/hanse-project/hanse/internal/joining"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/textfile"
	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/keys"
)

// joinCommand is how a newcomer comes in.
func joinCommand() *cli.Command {
	return &cli.Command{
		Name:      "join",
		Usage:     "join a charter that a member has invited this key to",
		ArgsUsage: "ADDRESS|INVITATION.toml",
		Description: `Fetches the invitation and the proposed charter from the inviter's node over TLS,
checks that they are for this key and fit together, shows the charter and what it
changes, asks, signs, and waits until all members have signed.

   hanse join --key telco.key --inviter hanse-id1… /dns4/insurer.example/tcp/4001
   hanse join --key telco.key invitation.toml -o charter.toml

The inviter gives the address and its id, or the invitation, which holds both. Give
the id: without it, whoever answers at the address is taken for the inviter.
Interrupting it is safe: the same command goes on. Without a network the charter
comes by mail and is signed with hanse charter sign.`,
		Flags: []cli.Flag{
			keyFlag(), passphraseFileFlag(),
			&cli.StringFlag{Name: "inviter", Usage: "the `ID` that must answer"},
			&cli.StringFlag{Name: "card", Usage: "the card `FILE` that the inviter was given (default: the one beside the " +
				"key, if it is there)"},
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Value: "charter.toml",
				Usage: "the `FILE` for the charter, which must not exist"},
			&cli.BoolFlag{Name: "wait", Value: true, Usage: "wait for the other signatures; --wait=false leaves after signing"},
			proxyFlag(), yesFlag(), jsonFlag(),
		},
		Action: anyOrder(runJoin),
	}
}

// runJoin joins a charter.
func runJoin(c *cli.Context) error {
	where, err := oneArgument(c, "address, or invitation", "ADDRESS")
	if err != nil {
		return err
	}
	path := c.String("out")
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s: %w: say with -o FILE where the charter goes", path, fs.ErrExist)
	}
	key, err := loadKey(c, c.String("key"))
	if err != nil {
		return err
	}
	n := joining.Newcomer{Key: key.Key, Where: where, Yes: c.Bool("yes"), Wait: c.Bool("wait"), Person: person(c)}
	if n.Proxy, err = proxyOf(c); err != nil {
		return err
	}
	card := c.String("card")
	if beside := cardBeside(c.String("key")); card == "" {
		if _, err := os.Stat(beside); !errors.Is(err, fs.ErrNotExist) {
			card = beside
		}
	}
	if card != "" {
		own, err := charterfile.ReadCard(card)
		if err != nil {
			return err
		}
		if own.ID != key.Key.ID() {
			return fmt.Errorf("%s: it is the card of another key, %s", card, own.ID.Short())
		}
		n.Card = &own
	}
	if c.IsSet("inviter") {
		if n.Inviter, err = keys.ParseID(c.String("inviter")); err != nil {
			return usage.Errorf("--inviter: %v", err)
		}
	}
	charter, err := joining.Join(c.Context, n)
	if err != nil || charter == nil {
		return err
	}
	if err := textfile.Create(path, charter.Text()); err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.JSON(c.App.Writer, charterfile.NewReport(charter, nil, path))
	}
	fmt.Fprintf(c.App.Writer, "%s: %s\n", path, charterfile.Standing(charter))
	fmt.Fprintf(c.App.ErrWriter, "next: start the node by\n    hanse node --key %s --charter %s --data FILE\n",
		c.String("key"), path)
	return nil
}
