package main

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/textfile"
	"github.com/hanse-project/hanse/keys"
)

// charterCommand makes, signs, changes and checks charters.
func charterCommand() *cli.Command {
	return &cli.Command{
		Name:  "charter",
		Usage: "make, sign, change and check the agreement of the members",
		Description: `A charter is a text that names the members and their rules. It is in force when
all of them have signed it. One member makes it from everybody's cards:

   hanse charter new --name credit --card bank.card --card insurer.card --card telco.card -o charter.toml

Each reads it, signs it, and sends it on; copies signed apart are merged:

   hanse charter show charter.toml
   hanse charter sign --key bank.key charter.toml
   hanse charter sign --merge from-insurer.toml charter.toml
   hanse charter verify charter.toml

A charter is never edited. A change is a new version that all its members sign:

   hanse charter invite --key insurer.key --card retailer.card --dir insurer-node charter.toml
   hanse charter change charter.toml --revoke telco --reason "the key was on a lost laptop" -o charter-2.toml`,
		Subcommands: []*cli.Command{
			charterNewCommand(), charterSignCommand(), charterShowCommand(), charterVerifyCommand(),
			charterChangeCommand(), charterProposeCommand(), charterInviteCommand(),
		},
		Action: needSubcommand,
	}
}

// ruleFlags are the rules that a new charter sets and a change may change.
func ruleFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "min-privacy", Usage: "the weakest `MODE` a job may use: published, masked or sealed", DefaultText: "masked"},
		&cli.IntFlag{Name: "min-contributors", Usage: "a sum over fewer than `N` members is never opened", DefaultText: "3"},
		&cli.BoolFlag{Name: "quic", Usage: "nodes may connect by QUIC besides TCP", DisableDefaultText: true},
		&cli.StringSliceFlag{Name: "discovery", Usage: "`WAY` to find members: addresses, mdns, dht; give it again for more", DefaultText: "addresses, mdns"},
	}
}

// setRules takes over the rules that are given, and says whether any is.
func setRules(c *cli.Context, r *keys.Rules) (any bool) {
	if c.IsSet("min-privacy") {
		r.MinPrivacy, any = c.String("min-privacy"), true
	}
	if c.IsSet("min-contributors") {
		r.MinContributors, any = c.Int("min-contributors"), true
	}
	if c.IsSet("quic") {
		r.Transports, any = []string{"tcp"}, true
		if c.Bool("quic") {
			r.Transports = append(r.Transports, "quic")
		}
	}
	if c.IsSet("discovery") {
		r.Discovery, any = c.StringSlice("discovery"), true
	}
	return any
}

// charterNewCommand makes the first version of a charter.
func charterNewCommand() *cli.Command {
	return &cli.Command{
		Name:  "new",
		Usage: "make a charter from the members' cards",
		Description: `   hanse charter new --name credit --card bank.card --card insurer.card \
       --card telco.card --card retailer.card --min-privacy masked -o charter.toml

Nobody has signed it yet: every member, the maker included, does so with
hanse charter sign.

For jobs over clients a charter can say who may be a server and who a client:

   hanse charter new --name fleet --card office.card --card ship-1.card --card ship-2.card \
       --card ship-3.card --role server=office --role client=ship-1 --role client=ship-2 \
       --role client=ship-3 -o charter.toml`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "name", Usage: "the charter's `NAME`, the same in all versions"},
			&cli.StringSliceFlag{Name: "card", Usage: "a member's card `FILE`; give one for each member"},
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Value: "charter.toml", Usage: "the `FILE` to write, which must not exist"},
			roleFlag(), jsonFlag(),
		}, ruleFlags()...),
		Action: anyOrder(charterNew),
	}
}

// charterNew makes the first version of a charter.
func charterNew(c *cli.Context) error {
	switch {
	case c.Args().Present():
		return usagef("what is %q for? a card is given by --card FILE", c.Args().First())
	case c.String("name") == "":
		return usagef("give the charter's name with --name NAME")
	case len(c.StringSlice("card")) == 0:
		return usagef("give each member's card with --card FILE; hanse keys new makes a key and its card")
	}
	draft := keys.Charter{Name: c.String("name"), Version: 1, Created: time.Now()}
	setRules(c, &draft.Rules)
	for _, path := range c.StringSlice("card") {
		card, err := readCard(path)
		if err != nil {
			return err
		}
		draft.Members = append(draft.Members, keys.Member(card))
	}
	if err := setRoles(c, &draft); err != nil {
		return err
	}
	charter, err := keys.NewCharter(draft)
	if err != nil {
		return err
	}
	return writeDraft(c, charter, c.String("out"))
}

// writeDraft stores a charter that nobody has signed, or that its maker has, and says what comes next.
func writeDraft(c *cli.Context, charter *keys.SignedCharter, path string) error {
	err := textfile.Create(path, charter.Text())
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: give another name with -o FILE", err)
	}
	if err != nil {
		return err
	}
	warnOfRules(c, charter)
	if c.Bool("json") {
		return printJSON(c, reportOf(charter, path))
	}
	fmt.Fprintf(c.App.Writer, "%s: charter %q, version %d, %s\n", path, charter.Name, charter.Version, plural(len(charter.Members), "member"))
	fmt.Fprintf(c.App.Writer, "hash: %s\n", charter.Digest())
	fmt.Fprintf(c.App.ErrWriter, "next: each member reads it and signs it: hanse charter sign --key FILE.key %s\n", path)
	return nil
}

// warnOfRules tells of rules under which nothing can be computed.
func warnOfRules(c *cli.Context, charter *keys.SignedCharter) {
	if n, least := len(charter.Members), charter.Rules.MinContributors; n < least {
		fmt.Fprintf(c.App.ErrWriter, "hanse: warning: charter %q has %s and opens no sum over fewer than %d: --min-contributors sets another number\n",
			charter.Name, plural(n, "member"), least)
	}
	if len(charter.MayServe()) == 0 {
		fmt.Fprintf(c.App.ErrWriter, "hanse: warning: charter %q lets no member be a server: no job over clients can run\n", charter.Name)
	}
}

// readCard reads a member's card.
func readCard(path string) (keys.Card, error) {
	text, err := textfile.Read(path, maxCard)
	if err != nil {
		return keys.Card{}, err
	}
	card, err := keys.ParseCard(text)
	if err != nil {
		return keys.Card{}, fmt.Errorf("%s: %w", path, err)
	}
	return card, nil
}

// readCharter reads a charter that need not be complete.
func readCharter(path string) (*keys.SignedCharter, error) {
	text, err := textfile.Read(path, keys.MaxDocument)
	if err != nil {
		return nil, err
	}
	charter, err := keys.ParseCharter(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return charter, nil
}

// readCompleteCharter reads a charter that all its members have signed.
func readCompleteCharter(path string) (*keys.SignedCharter, error) {
	charter, err := readCharter(path)
	if err != nil {
		return nil, err
	}
	if err := charter.Complete(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return charter, nil
}

// plural counts things.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
