package main

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/enrol"
	"github.com/hanse-project/hanse/keys"
)

// charterProposeCommand hands a new version to the node.
func charterProposeCommand() *cli.Command {
	return &cli.Command{
		Name:      "propose",
		Usage:     "let this member's node carry a new version round for signatures",
		ArgsUsage: "CHARTER",
		Description: `   hanse charter change charter.toml --revoke telco --reason "key lost" -o charter-2.toml
   hanse charter sign --key bank.key charter-2.toml
   hanse charter propose --dir bank-node charter-2.toml

The other members' nodes show it to their owners, who sign it where it stands. When
all have signed, every node puts it in the place of its charter.`,
		Flags:  []cli.Flag{dirFlag(), jsonFlag()},
		Action: anyOrder(charterPropose),
	}
}

// charterPropose hands a new version to the node.
func charterPropose(c *cli.Context) error {
	charter, path, err := charterArgument(c)
	if err != nil {
		return err
	}
	file, err := enrol.Propose(c.String("dir"), charter)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if c.Bool("json") {
		return printJSON(c, reportOf(charter, file))
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s: %s\n", file, standing(charter))
	return err
}

// charterInviteCommand invites a newcomer.
func charterInviteCommand() *cli.Command {
	return &cli.Command{
		Name:      "invite",
		Usage:     "invite the owner of a card to join",
		ArgsUsage: "CHARTER",
		Description: `Drafts the next version of the charter with the newcomer in it, signs it, and signs
an invitation, good for this one card until it expires. Both go into the node's
folder: the running node lets the newcomer in to read and sign, and carries the
version to the other members, who sign it too.

   hanse charter invite --key insurer.key --card telco.card --dir insurer-node charter.toml
   hanse charter invite --key insurer.key --card telco.card --card retailer.card \
       --expires 168h --dir insurer-node charter.toml
   hanse charter invite --key office.key --card ship-4.card --role client=ship-4 \
       --dir office-node charter.toml

It prints the command for the newcomer. Inviting again renews an invitation.`,
		Flags: []cli.Flag{
			keyFlag(), passphraseFileFlag(),
			&cli.StringSliceFlag{Name: "card", Usage: "the newcomer's card `FILE`; give it again to invite several at once"},
			&cli.DurationFlag{Name: "expires", Value: 72 * time.Hour, Usage: "how long the invitation is good, `DURATION`"},
			&cli.StringSliceFlag{Name: "address", Usage: "`ADDRESS` at which the newcomer reaches this node (default: those in the charter)"},
			roleFlag(), dirFlag(), jsonFlag(),
		},
		Action: anyOrder(charterInvite),
	}
}

// charterInvite invites newcomers.
func charterInvite(c *cli.Context) error {
	path, err := oneArgument(c, "charter", "charter.toml")
	if err != nil {
		return err
	}
	if c.Duration("expires") <= 0 {
		return usagef("--expires is %s, want a time to come, such as 72h", c.Duration("expires"))
	}
	guests := enrol.Guests{Expires: time.Now().Add(c.Duration("expires"))}
	if c.IsSet("address") {
		guests.Addresses = c.StringSlice("address")
	}
	if guests.Cards, err = guestCards(c); err != nil {
		return err
	}
	if guests.Roles, err = rolesGiven(c); err != nil {
		return err
	}
	if guests.Charter, err = readCompleteCharter(path); err != nil {
		return err
	}
	key, err := loadKey(c, c.String("key"))
	if err != nil {
		return err
	}
	guests.Key = key.Key
	issued, err := enrol.Invite(c.String("dir"), guests)
	if err != nil {
		return err
	}
	return printInvitations(c, guests, issued)
}

// guestCards reads the newcomers' cards.
func guestCards(c *cli.Context) ([]keys.Card, error) {
	paths := c.StringSlice("card")
	if len(paths) == 0 {
		return nil, usagef("give the newcomer's card with --card FILE.card")
	}
	cards := make([]keys.Card, len(paths))
	for i, path := range paths {
		card, err := readCard(path)
		if err != nil {
			return nil, err
		}
		cards[i] = card
	}
	return cards, nil
}

// invitationReport is one invitation in JSON.
type invitationReport struct {
	Name     string        `json:"name"`
	ID       string        `json:"id"`
	Inviter  string        `json:"inviter"`
	Address  string        `json:"address"`
	Expires  time.Time     `json:"expires"`
	Folder   string        `json:"folder"`
	Proposal charterReport `json:"proposal"`
}

// printInvitations says what was made and what the newcomers are to be sent.
func printInvitations(c *cli.Context, g enrol.Guests, issued *enrol.Issued) error {
	inviter, _ := issued.Proposal.Member(g.Key.ID())
	address := append(g.Addresses, inviter.Addresses...)[0]
	var reports []invitationReport
	for i, card := range g.Cards {
		reports = append(reports, invitationReport{card.Name, card.ID.String(), inviter.ID.String(), address,
			g.Expires.UTC().Truncate(time.Second), issued.Folders[i], reportOf(issued.Proposal, issued.File)})
	}
	if c.Bool("json") {
		return printJSON(c, map[string]any{"invitations": reports})
	}
	for _, r := range reports {
		fmt.Fprintf(c.App.Writer, "%s is invited until %s. While the node of %s runs, it joins with\n\n   hanse join --key %s.key --inviter %s %s\n\n",
			r.Name, r.Expires.Format(time.RFC3339), inviter.Name, r.Name, r.Inviter, r.Address)
		fmt.Fprintf(c.App.Writer, "or, sent %s by mail,\n\n   hanse join --key %s.key invitation.toml\n\n", filepath.Join(r.Folder, "invitation.toml"), r.Name)
	}
	_, err := fmt.Fprintf(c.App.Writer, "%s is what all members sign: %s\n", issued.File, standing(issued.Proposal))
	return err
}
