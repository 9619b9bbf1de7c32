package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/keys"
)

// charterChangeCommand drafts the next version of a charter.
func charterChangeCommand() *cli.Command {
	return &cli.Command{
		Name:      "change",
		Usage:     "draft the next version of a charter: members, addresses, rules",
		ArgsUsage: "CHARTER",
		Description: `   hanse charter change charter.toml --add telco.card -o charter-2.toml
   hanse charter change charter.toml --revoke telco --reason "the key was on a lost laptop" -o charter-2.toml
   hanse charter change charter.toml --revoke telco --reason "key lost" --add telco-new.card -o charter-2.toml
   hanse charter change charter.toml --role client=telco --role any=bank -o charter-2.toml

The card of a member renews its name and addresses, and leaves its roles; --role
takes the place of all roles the member had, any=MEMBER takes them away. A member who
comes back with a new key has no roles but those given now. All members of the new version
sign it, as they did the first; whoever is revoked need not. hanse charter propose
then lets the nodes carry it round, or it goes by mail.`,
		Flags: append([]cli.Flag{
			&cli.StringSliceFlag{Name: "add", Usage: "the card `FILE` of a new member, or the new card of one"},
			&cli.StringSliceFlag{Name: "revoke", Usage: "take out the member of this `NAME` and refuse its key from then on"},
			&cli.StringFlag{Name: "reason", Usage: "`TEXT` that says why, for the charter"},
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Usage: "the `FILE` to write, which must not exist"},
			roleFlag(), jsonFlag(),
		}, ruleFlags()...),
		Action: anyOrder(charterChange),
	}
}

// charterChange drafts the next version.
func charterChange(c *cli.Context) error {
	if c.String("out") == "" {
		return usagef("say where the new version goes with -o FILE")
	}
	path, err := oneArgument(c, "charter", "charter.toml")
	if err != nil {
		return err
	}
	parent, err := readCompleteCharter(path)
	if err != nil {
		return err
	}
	draft := parent.Next()
	draft.Created = time.Now()
	if err := applyChanges(c, &draft); err != nil {
		return err
	}
	charter, err := keys.NewCharter(draft)
	if err != nil {
		return err
	}
	if len(charter.Changes(parent)) == 0 {
		return usagef("nothing is changed: give --add, --revoke or a rule")
	}
	showChanges(c.App.ErrWriter, charter, parent)
	return writeDraft(c, charter, c.String("out"))
}

// applyChanges does what the flags say; a member can be revoked and come back with a new key.
func applyChanges(c *cli.Context, draft *keys.Charter) error {
	for _, name := range c.StringSlice("revoke") {
		if err := draft.Revoke(name, c.String("reason")); err != nil {
			return err
		}
	}
	for _, path := range c.StringSlice("add") {
		card, err := readCard(path)
		if err != nil {
			return err
		}
		draft.Admit(card)
	}
	setRules(c, &draft.Rules)
	return setRoles(c, draft)
}
