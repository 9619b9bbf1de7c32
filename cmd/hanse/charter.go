package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/charterfile"
	"github.com/hanse-project/hanse/internal/enrol"
	"github.com/hanse-project/hanse/internal/joining"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/textfile"
	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/internal/wording"
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

Its maker's program carries it to the others, who read it and sign it with hanse join:

   hanse charter propose --key bank.key charter.toml

Or it goes by mail: each reads it, signs it, and sends it on; copies signed apart are merged:

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
		&cli.StringFlag{Name: "min-privacy", Usage: "the weakest `MODE` a job may use: published, masked or sealed",
			DefaultText: "masked"},
		&cli.IntFlag{Name: "min-contributors", Usage: "a sum over fewer than `N` members is never opened", DefaultText: "3"},
		&cli.BoolFlag{Name: "quic", Usage: "nodes may connect by QUIC besides TCP", DisableDefaultText: true},
		&cli.StringSliceFlag{Name: "discovery", Usage: "`WAY` to find members: addresses, mdns, dht; give it again for " +
			"more", DefaultText: "addresses"},
		&cli.StringSliceFlag{Name: "ids", Usage: "`NAME=COLUMN:HOW`, what identifies a row, and how cells are made alike: " +
			"phone=phone:trim,e164=+31; NAME= takes it away; give it again for more", DefaultText: "the id column"},
		&cli.IntFlag{Name: "min-rows", Usage: "an alignment over fewer than `N` common rows opens nothing",
			DefaultText: fmt.Sprint(keys.DefaultMinRows)},
		&cli.StringFlag{Name: "relay-limits", Usage: "what members that relay carry, `LIMITS`: minutes=60,mib=1024 " +
			"of one circuit, reservations=64 of one relay, circuits=8 of one member; 0 is no limit",
			DefaultText: "none"},
		&cli.IntFlag{Name: "revoke-by", Usage: "`N` members, and more than half of all, can revoke another without the " +
			"rest; 0: all others sign", DefaultText: "0"},
	}
}

// setRules takes over the rules that are given.
func setRules(c *cli.Context, draft *keys.Charter) error {
	r := &draft.Rules
	if c.IsSet("min-privacy") {
		r.MinPrivacy = c.String("min-privacy")
	}
	if c.IsSet("min-contributors") {
		r.MinContributors = c.Int("min-contributors")
	}
	if c.IsSet("min-rows") {
		r.MinRows = c.Int("min-rows")
	}
	if c.IsSet("revoke-by") {
		r.RevokeBy = c.Int("revoke-by")
	}
	if c.IsSet("quic") {
		r.Transports = []string{"tcp"}
		if c.Bool("quic") {
			r.Transports = append(r.Transports, "quic")
		}
	}
	if c.IsSet("discovery") {
		r.Discovery = c.StringSlice("discovery")
	}
	if c.IsSet("relay-limits") {
		limits, err := charterfile.ParseRelayLimits(c.String("relay-limits"))
		if err != nil {
			return err
		}
		draft.Relay = limits
	}
	return charterfile.SetIdentifiers(draft, c.StringSlice("ids"))
}

// charterNewCommand makes the first version of a charter.
func charterNewCommand() *cli.Command {
	return &cli.Command{
		Name:      "new",
		Usage:     "make a charter from the members' cards",
		ArgsUsage: "--name NAME --card FILE.card...",
		Description: `   hanse charter new --name credit --card bank.card --card insurer.card \
       --card telco.card --card retailer.card --min-privacy masked -o charter.toml

Nobody has signed it yet: every member, the maker included, does so with
hanse charter sign.

For jobs over clients a charter can say who may be a server and who a client:

   hanse charter new --name fleet --card office.card --card ship-1.card --card ship-2.card \
       --card ship-3.card --role server=office --role client=ship-1 --role client=ship-2 \
       --role client=ship-3 -o charter.toml

For alignments it can say what identifies a row, and how members make their cells alike:
nfkc (one form of the same character), trim (blanks at both ends), casefold (no capitals),
and then number (a whole number, be it written 17, 17.0 or 000017), digits (nothing else),
e164=CODE (a phone number, of CODE where it has none) or date=LAYOUT (2 January 2006 as the
cells write it). Columns of one key have ";" between:

   hanse charter new --name credit --card bank.card --card insurer.card --card telco.card \
       --ids 'phone=phone:trim,e164=+31' --min-rows 100 \
       --ids 'person=surname:nfkc,trim,casefold;born:trim,date=02.01.2006' -o charter.toml
   hanse ids check train.csv --charter charter.toml     # at every member, before it signs`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "name", Usage: "the charter's `NAME`, the same in all versions"},
			&cli.StringSliceFlag{Name: "card", Usage: "a member's card `FILE`; give one for each member"},
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Value: "charter.toml",
				Usage: "the `FILE` to write, which must not exist"},
			roleFlag(), jsonFlag(),
		}, ruleFlags()...),
		Action: anyOrder(func(c *cli.Context) error {
			switch {
			case c.Args().Present():
				return usage.Errorf("what is %q for? a card is given by --card FILE", c.Args().First())
			case c.String("name") == "":
				return usage.Errorf("give the charter's name with --name NAME")
			case len(c.StringSlice("card")) == 0:
				return usage.Errorf("give each member's card with --card FILE; hanse keys new makes a key and its card")
			}
			draft := keys.Charter{Name: c.String("name"), Version: 1, Created: time.Now()}
			if err := setRules(c, &draft); err != nil {
				return err
			}
			for _, path := range c.StringSlice("card") {
				card, err := charterfile.ReadCard(path)
				if err != nil {
					return err
				}
				draft.Members = append(draft.Members, keys.Member(card))
			}
			if err := charterfile.SetRoles(&draft, c.StringSlice("role")); err != nil {
				return err
			}
			charter, err := keys.NewCharter(draft)
			if err != nil {
				return err
			}
			return writeDraft(c, charter, c.String("out"))
		}),
	}
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
	if n, least := len(charter.Members), charter.Rules.MinContributors; n < least {
		say(c, fmt.Sprintf("hanse: warning: charter %q has %s and opens no sum over fewer than %d: --min-contributors sets "+
			"another number", charter.Name, wording.Count(n, "member"), least))
	}
	if len(charter.MayServe()) == 0 {
		say(c, fmt.Sprintf("hanse: warning: charter %q lets no member be a server: no job over clients can run",
			charter.Name))
	}
	if c.Bool("json") {
		return terminal.JSON(c.App.Writer, charterfile.NewReport(charter, nil, path))
	}
	fmt.Fprintf(c.App.Writer, "%s: charter %q, version %d, %s\n", path, charter.Name, charter.Version,
		wording.Count(len(charter.Members), "member"))
	fmt.Fprintf(c.App.Writer, "hash: %s\n", charter.Digest())
	fmt.Fprintf(c.App.ErrWriter, "next: each member reads it and signs it by\n    hanse charter sign --key FILE.key %s\n",
		path)
	return nil
}

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
   hanse charter change charter.toml --ids email=email:trim,casefold --ids phone= -o charter-2.toml

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
		Action: anyOrder(func(c *cli.Context) error {
			if c.String("out") == "" {
				return usage.Errorf("say where the new version goes with -o FILE")
			}
			path, err := oneArgument(c, "charter", "charter.toml")
			if err != nil {
				return err
			}
			parent, err := charterfile.ReadInForce(path)
			if err != nil {
				return err
			}
			draft := parent.Next()
			draft.Created = time.Now()
			for _, name := range c.StringSlice("revoke") { // who may come back with a new key
				if err := draft.Revoke(name, c.String("reason")); err != nil {
					return err
				}
			}
			for _, path := range c.StringSlice("add") {
				card, err := charterfile.ReadCard(path)
				if err != nil {
					return err
				}
				draft.Admit(card)
			}
			if err := setRules(c, &draft); err != nil {
				return err
			}
			if err := charterfile.SetRoles(&draft, c.StringSlice("role")); err != nil {
				return err
			}
			charter, err := keys.NewCharter(draft)
			if err != nil {
				return err
			}
			if len(charter.Changes(parent)) == 0 {
				return usage.Errorf("nothing is changed: give --add, --revoke or a rule")
			}
			charterfile.ShowChanges(c.App.ErrWriter, charter, parent)
			return writeDraft(c, charter, c.String("out"))
		}),
	}
}

// charterProposeCommand hands a new version to the node.
func charterProposeCommand() *cli.Command {
	return &cli.Command{
		Name:      "propose",
		Usage:     "carry a charter, or a new version of one, to the other members for signatures",
		ArgsUsage: "CHARTER",
		Description: `A new charter has no nodes under it yet. This command signs it, listens at this member's
address, and prints for each other member the command by which that member reads it and
signs it. It ends when all have signed and fetched it; interrupting it is safe, the same
command goes on.

   hanse charter new --name credit --card bank.card --card insurer.card --card telco.card
   hanse charter propose --key bank.key charter.toml

A later version is carried by the nodes:

   hanse charter change charter.toml --revoke telco --reason "key lost" -o charter-2.toml
   hanse charter sign --key bank.key charter-2.toml
   hanse charter propose --dir bank-node charter-2.toml

The other members' nodes show it to their owners, who sign it where it stands. A member
with a new key has no node that could: for each of them it prints the command by which
it reads the version and signs it. Who comes in is invited (hanse charter invite). When
all have signed, every node puts it in the place of its charter.`,
		Flags: []cli.Flag{keyFlag(), passphraseFileFlag(), yesFlag(), dirFlag(), jsonFlag()},
		Action: anyOrder(func(c *cli.Context) error {
			charter, path, err := charterArgument(c)
			if err != nil {
				return err
			}
			if charter.Version == 1 {
				return foundCharter(c, charter, path)
			}
			if c.IsSet("key") {
				return usage.Errorf("--key signs a first version; this one is version %d: sign it with hanse charter sign "+
					"--key %s %s", charter.Version, c.String("key"), path)
			}
			file, err := enrol.Propose(c.String("dir"), charter)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			if c.Bool("json") {
				return terminal.JSON(c.App.Writer, charterfile.NewReport(charter, nil, file))
			}
			if err := inviteNewKeys(c, charter); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.App.Writer, "%s: %s\n", file, charterfile.Standing(charter))
			return err
		}),
	}
}

// inviteNewKeys prints how members read and sign a version that gives them a new key: no node of theirs is under it
// yet, and each member that has signed lets them in.
func inviteNewKeys(c *cli.Context, charter *keys.SignedCharter) error {
	parent, err := node.KeptCharter(c.String("dir"), charter.Parent.String())
	if err != nil || parent == nil { // of a node that has never run nothing is known
		return err
	}
	for _, m := range parent.Members {
		at, _ := charter.Member(m.ID)
		if !charter.SignedBy(m.ID) || len(at.Addresses) == 0 {
			continue
		}
		for _, name := range enrol.NewKeys(charter, parent) {
			printJoin(c, name, "FILE", at)
		}
		return nil
	}
	return nil
}

// printJoin prints how a newcomer, whose key is in a file of that name, reads and signs a version at a member.
func printJoin(c *cli.Context, name, file string, at keys.Member) {
	fmt.Fprintf(c.App.ErrWriter, "%s reads it and signs it with\n\n   hanse join --key %s.key --inviter %s %s\n\n", name,
		file, at.ID, at.Addresses[0])
}

// foundCharter signs a first version and carries it to the members that it names.
func foundCharter(c *cli.Context, charter *keys.SignedCharter, path string) error {
	key, err := loadKey(c, c.String("key"))
	if err != nil {
		return err
	}
	self, ok := charter.Member(key.Key.ID())
	if !ok {
		return fmt.Errorf("%s: the key %s is not that of a member", path, key.Key.ID().Short())
	}
	if err := signCharter(c, charter, nil, key.Key); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := charterfile.Store(charter, path); err != nil {
		return err
	}
	for _, m := range charter.Members {
		if m.ID != self.ID && len(self.Addresses) > 0 {
			printJoin(c, m.Name, m.Name, self)
		}
	}
	log, err := terminal.NewLog(c.App.ErrWriter, "warn", "text")
	if err != nil {
		return err
	}
	err = joining.Found(c.Context, joining.Founder{
		Key: key.Key, Charter: charter, Person: person(c), Log: log,
		Keep: func(signed *keys.SignedCharter) error { return charterfile.Store(signed, path) },
	})
	if err != nil {
		return err
	}
	if charter, err = charterfile.ReadInForce(path); err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.JSON(c.App.Writer, charterfile.NewReport(charter, nil, path))
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s: %s\n", path, charterfile.Standing(charter))
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
			&cli.StringSliceFlag{Name: "address", Usage: "`ADDRESS` at which the newcomer reaches this node (default: those " +
				"in the charter)"},
			roleFlag(), dirFlag(), jsonFlag(),
		},
		Action: anyOrder(func(c *cli.Context) error {
			path, err := oneArgument(c, "charter", "charter.toml")
			if err != nil {
				return err
			}
			if c.Duration("expires") <= 0 {
				return usage.Errorf("--expires is %s, want a time to come, such as 72h", c.Duration("expires"))
			}
			guests := enrol.Guests{Expires: time.Now().Add(c.Duration("expires"))}
			if c.IsSet("address") {
				guests.Addresses = c.StringSlice("address")
			}
			if len(c.StringSlice("card")) == 0 {
				return usage.Errorf("give the newcomer's card with --card FILE.card")
			}
			for _, path := range c.StringSlice("card") {
				card, err := charterfile.ReadCard(path)
				if err != nil {
					return err
				}
				guests.Cards = append(guests.Cards, card)
			}
			if guests.Roles, err = charterfile.ParseRoles(c.StringSlice("role")); err != nil {
				return err
			}
			if guests.Charter, err = charterfile.ReadInForce(path); err != nil {
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
		}),
	}
}

// invitationReport is one invitation in JSON.
type invitationReport struct {
	Name     string             `json:"name"`
	ID       string             `json:"id"`
	Inviter  string             `json:"inviter"`
	Address  string             `json:"address"`
	Expires  time.Time          `json:"expires"`
	Folder   string             `json:"folder"`
	Proposal charterfile.Report `json:"proposal"`
}

// printInvitations says what was made and what the newcomers are to be sent.
func printInvitations(c *cli.Context, g enrol.Guests, issued *enrol.Issued) error {
	inviter, _ := issued.Proposal.Member(g.Key.ID())
	address := append(g.Addresses, inviter.Addresses...)[0]
	var reports []invitationReport
	for i, card := range g.Cards {
		reports = append(reports, invitationReport{card.Name, card.ID.String(), inviter.ID.String(), address,
			g.Expires.UTC().Truncate(time.Second), issued.Folders[i], charterfile.NewReport(issued.Proposal, nil, issued.File)})
	}
	if c.Bool("json") {
		return terminal.JSON(c.App.Writer, map[string]any{"invitations": reports})
	}
	for _, r := range reports {
		fmt.Fprintf(c.App.Writer, "%s is invited until %s. While the node of %s runs, it joins with\n\n   hanse join "+
			"--key %s.key --inviter %s %s\n\n",
			r.Name, wording.Time(r.Expires), inviter.Name, r.Name, r.Inviter, r.Address)
		fmt.Fprintf(c.App.Writer, "or, sent %s by mail,\n\n   hanse join --key %s.key invitation.toml\n\n",
			filepath.Join(r.Folder, "invitation.toml"), r.Name)
	}
	_, err := fmt.Fprintf(c.App.Writer, "%s is what all members sign: %s\n", issued.File,
		charterfile.Standing(issued.Proposal))
	return err
}

// roleFlag gives members roles.
func roleFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "role", Usage: "`ROLE=MEMBER`, what a member may be in jobs over clients: " +
		"server, client, or any; give it again for more", DefaultText: "any for all"}
}

// charterShowCommand shows a charter.
func charterShowCommand() *cli.Command {
	return &cli.Command{
		Name:      "show",
		Usage:     "show a charter, and who has signed it",
		ArgsUsage: "CHARTER",
		Description: `   hanse charter show charter.toml
   hanse charter show charter-2.toml --parent charter.toml     # and what it changes`,
		Flags: []cli.Flag{parentFlag(), jsonFlag()},
		Action: anyOrder(func(c *cli.Context) error {
			charter, path, err := charterArgument(c)
			if err != nil {
				return err
			}
			parent, err := parentOf(c, charter)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return terminal.JSON(c.App.Writer, charterfile.NewReport(charter, parent, path))
			}
			return charterfile.Show(c.App.Writer, charter, parent)
		}),
	}
}

// parentFlag names the version before.
func parentFlag() cli.Flag {
	return &cli.StringFlag{Name: "parent", Usage: "the `FILE` of the version before"}
}

// charterArgument reads the charter that is a command's only argument.
func charterArgument(c *cli.Context) (*keys.SignedCharter, string, error) {
	path, err := oneArgument(c, "charter", "charter.toml")
	if err != nil {
		return nil, "", err
	}
	charter, err := charterfile.Read(path)
	return charter, path, err
}

// parentOf reads the version before, nil if none is given. It must be complete.
func parentOf(c *cli.Context, charter *keys.SignedCharter) (*keys.SignedCharter, error) {
	path := c.String("parent")
	if path == "" {
		return nil, nil
	}
	parent, err := charterfile.ReadInForce(path)
	if err != nil {
		return nil, err
	}
	charter.After(parent)
	return parent, charter.Follows(parent)
}

// charterVerifyCommand checks a charter.
func charterVerifyCommand() *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "check that all members have signed, and what a version follows",
		ArgsUsage: "CHARTER",
		Description: `Ends with status 1, and says whose signature is missing, unless all have signed.

   hanse charter verify charter.toml
   hanse charter verify charter-2.toml --parent charter.toml`,
		Flags: []cli.Flag{parentFlag(), jsonFlag()},
		Action: anyOrder(func(c *cli.Context) error {
			charter, path, err := charterArgument(c)
			if err != nil {
				return err
			}
			parent, err := parentOf(c, charter)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				if err := terminal.JSON(c.App.Writer, charterfile.NewReport(charter, parent, path)); err != nil {
					return err
				}
				return charter.Complete()
			}
			if err := charter.Complete(); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			fmt.Fprintln(c.App.Writer, charterfile.Standing(charter))
			charterfile.ShowChanges(c.App.Writer, charter, parent)
			return nil
		}),
	}
}

// yesFlag answers the question beforehand.
func yesFlag() cli.Flag {
	return &cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "sign without asking", DisableDefaultText: true}
}

// charterSignCommand adds signatures to a charter.
func charterSignCommand() *cli.Command {
	return &cli.Command{
		Name:      "sign",
		Usage:     "sign a charter, or add the signatures of another copy",
		ArgsUsage: "CHARTER",
		Description: `On a terminal it shows the charter and asks. The file is changed in place, in one
step; only signatures are added to it.

   hanse charter sign --key bank.key charter.toml
   hanse charter sign --merge from-insurer.toml --merge from-telco.toml charter.toml

A new version can be shown next to the one it follows:

   hanse charter sign --key bank.key --parent charter.toml charter-2.toml`,
		Flags: []cli.Flag{
			keyFlag(), passphraseFileFlag(),
			&cli.StringSliceFlag{Name: "merge", Usage: "add the signatures in this `FILE`, another copy of the same charter"},
			parentFlag(), yesFlag(), jsonFlag(),
		},
		Action: anyOrder(func(c *cli.Context) error {
			if c.String("key") == "" && len(c.StringSlice("merge")) == 0 {
				return usage.Errorf("sign with --key FILE.key, or add the signatures of another copy with --merge FILE")
			}
			charter, path, err := charterArgument(c)
			if err != nil {
				return err
			}
			parent, err := parentOf(c, charter)
			if err != nil {
				return err
			}
			for _, other := range c.StringSlice("merge") {
				added, err := charterfile.Merge(charter, path, other)
				for _, name := range added {
					fmt.Fprintf(c.App.ErrWriter, "%s: added the signature of %s\n", path, name)
				}
				if err != nil {
					return err
				}
			}
			signed := ""
			if c.String("key") != "" {
				name, err := addOwnSignature(c, charter, parent)
				if err != nil {
					return fmt.Errorf("%s: %w", path, err)
				}
				signed = name + " has signed; "
			}
			if err := charterfile.Store(charter, path); err != nil {
				return err
			}
			if c.Bool("json") {
				return terminal.JSON(c.App.Writer, charterfile.NewReport(charter, nil, path))
			}
			fmt.Fprintf(c.App.Writer, "%s: %s%s\n", path, signed, charterfile.Standing(charter))
			return nil
		}),
	}
}

// addOwnSignature signs a charter, once the owner of the key has seen it and agreed, and returns whose it is.
func addOwnSignature(c *cli.Context, charter, parent *keys.SignedCharter) (member string, err error) {
	key, err := loadKey(c, c.String("key"))
	if err != nil {
		return "", err
	}
	if err := signCharter(c, charter, parent, key.Key); err != nil {
		return "", err
	}
	m, _ := charter.Member(key.Key.ID())
	return m.Name, nil
}

// signCharter is addOwnSignature with a key that is read.
func signCharter(c *cli.Context, charter, parent *keys.SignedCharter, key *keys.PrivateKey) error {
	m, ok := charter.Member(key.ID())
	if ok && charter.SignedBy(m.ID) {
		fmt.Fprintf(c.App.ErrWriter, "%s has signed it before\n", m.Name)
		return nil
	}
	if _, asked := person(c).Terminal(); ok && asked && !c.Bool("yes") {
		if err := charterfile.Show(c.App.ErrWriter, charter, parent); err != nil {
			return err
		}
		yes, err := person(c).Agree(c.Context, fmt.Sprintf("\nsign this charter as %s?", m.Name))
		if err != nil {
			return err
		}
		if !yes {
			return joining.ErrNotSigned
		}
	}
	return charter.Sign(key)
}
