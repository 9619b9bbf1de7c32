package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/charterfile"
	"github.com/hanse-project/hanse/internal/owner"
	"github.com/hanse-project/hanse/internal/passphrase"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/textfile"
	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
)

// keysCommand makes and shows key files and cards.
func keysCommand() *cli.Command {
	return &cli.Command{
		Name:  "keys",
		Usage: "make and show key files and public cards",
		Description: `A member is known by its key file. The file is a secret: whoever has it is that
member. What others need is the card, which is public and made along with it.

   hanse keys new bank.key --name bank --address /ip4/10.0.0.7/tcp/4001
   hanse keys show bank.key
   hanse keys show insurer.card`,
		Subcommands: []*cli.Command{keysNewCommand(), keysCardCommand(), keysShowCommand()},
		Action:      needSubcommand,
	}
}

// needSubcommand answers a command that does nothing by itself.
func needSubcommand(c *cli.Context) error {
	if c.Args().Present() {
		return usage.Errorf("there is no command %q; see hanse %s --help%s", c.Command.Name+" "+c.Args().First(),
			c.Command.Name, wording.DidYouMean(c.Args().First(), commandNames(c.Command.Subcommands)))
	}
	return cli.ShowSubcommandHelp(c)
}

// addressFlag names where a node can be dialled.
func addressFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "address", Usage: "`ADDRESS` where others can dial the node, such as " +
		"/dns4/bank.example/tcp/4001; give it again for more, none if the node only dials out"}
}

// jsonFlag asks for one JSON object.
func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print one JSON object on standard output", DisableDefaultText: true}
}

// keysNewCommand makes a key file and its card.
func keysNewCommand() *cli.Command {
	return &cli.Command{
		Name:      "new",
		Usage:     "make a key file and its public card",
		ArgsUsage: "FILE.key",
		Description: `Writes the secret key to FILE.key, readable by its owner only, and the public
card to FILE.card beside it. Neither file may exist.

   hanse keys new bank.key --name bank --address /ip4/10.0.0.7/tcp/4001

It asks for a passphrase, twice, by which the key file is encrypted; whoever reads the
file still needs it to be the member. A program gives it in the file of --passphrase-file
or in $HANSE_PASSPHRASE, as the node that starts with the key does. --no-passphrase does
without: the file's rights alone guard the key then.

   hanse keys new telco.key --name telco --no-passphrase

The name is at most 32 characters of a-z, 0-9 and "-". The addresses are where the
other members dial this one; they can be changed later (hanse keys card). A member
that only dials out needs none. One that all can dial may relay for members that
cannot reach each other, behind NAT for example:

   hanse keys new cloud.key --name cloud --address /ip4/203.0.113.7/tcp/4001 --relay`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "name", Usage: "the member's `NAME`"},
			addressFlag(), relayFlag(),
			&cli.BoolFlag{Name: "passphrase", Hidden: true, Usage: "encrypt the key with a passphrase, as is done anyway",
				DisableDefaultText: true},
			&cli.BoolFlag{Name: "no-passphrase", Usage: "write the key as it is: whoever reads the file is the member",
				DisableDefaultText: true},
			passphraseFileFlag(),
			jsonFlag(),
		},
		Action: anyOrder(func(c *cli.Context) error {
			path, err := oneArgument(c, "key file", "FILE.key")
			if err != nil {
				return err
			}
			key, err := keys.GenerateKey()
			if err != nil {
				return err
			}
			card := keys.Card{Name: c.String("name"), ID: key.ID(), Addresses: c.StringSlice("address"),
				Relay: c.Bool("relay")}
			if card.Name == "" {
				return usage.Errorf("give the member's name with --name NAME")
			}
			doc, err := card.Sign(key)
			if err != nil {
				return err
			}
			cardPath := cardBeside(path)
			if _, err := os.Lstat(cardPath); err == nil {
				return fmt.Errorf("%s: %w, and the card of another key is not overwritten: choose another name or move it away",
					cardPath, fs.ErrExist)
			}
			without := c.Bool("no-passphrase")
			if without && (c.Bool("passphrase") || c.IsSet("passphrase-file")) {
				return usage.Errorf("--no-passphrase stands beside a passphrase: give one of the two")
			}
			if err := owner.WithoutCores(); err != nil {
				return err
			}
			var secret []byte
			if !without {
				if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) { // ask for nothing in vain
					if secret, err = passphraseSource(c).New(c.Context, path); err != nil {
						return fmt.Errorf("key file %q: passphrase: %w", path, err)
					}
				}
			}
			encrypted := len(secret) > 0
			defer clear(secret)
			if err := keys.CreateKeyFile(path, card.Name, key, secret); err != nil {
				return err
			}
			if err := textfile.Create(cardPath, doc.Text()); err != nil {
				return fmt.Errorf("%w; the key file is good: hanse keys card %s writes its card", err, path)
			}
			return printNewKey(c, card, path, cardPath, encrypted)
		}),
	}
}

// newKeyReport is what keys new says in JSON.
type newKeyReport struct {
	Name      string   `json:"name"`
	ID        string   `json:"id"`
	KeyFile   string   `json:"key_file"`
	CardFile  string   `json:"card_file"`
	Addresses []string `json:"addresses"`
	Relay     bool     `json:"relay,omitempty"`
	Encrypted bool     `json:"encrypted"`
}

// printNewKey says what was made and what to do with it.
func printNewKey(c *cli.Context, card keys.Card, path, cardPath string, encrypted bool) error {
	if c.Bool("json") {
		return terminal.JSON(c.App.Writer, newKeyReport{card.Name, card.ID.String(), path, cardPath,
			append([]string{}, card.Addresses...), card.Relay, encrypted})
	}
	t := wording.NewTable(c.App.Writer, "")
	t.Row("key file", path, "secret: keep it, and keep a copy")
	t.Row("card", cardPath, "public: send it to the other members")
	t.Row("id", card.ID.String())
	if err := t.Flush(); err != nil {
		return err
	}
	if !encrypted {
		fmt.Fprintf(c.App.ErrWriter, "the key is not encrypted: whoever reads %s is %s\n", path, card.Name)
	}
	return nil
}

// keysCardCommand writes a new card for a key.
func keysCardCommand() *cli.Command {
	return &cli.Command{
		Name:      "card",
		Usage:     "write the public card of a key file, with other addresses for example",
		ArgsUsage: "FILE.key",
		Description: `   hanse keys card bank.key --address /dns4/bank.example/tcp/4001

A charter keeps the addresses it was signed with; a member puts the new card in by
hanse charter change --add bank.card.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "name", Usage: "the member's `NAME` (default: the one in the key file)"},
			addressFlag(), relayFlag(),
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Usage: "write the card to this `FILE` (default: beside the " +
				"key file)"},
			passphraseFileFlag(),
		},
		Action: anyOrder(func(c *cli.Context) error {
			path, err := oneArgument(c, "key file", "FILE.key")
			if err != nil {
				return err
			}
			k, err := loadKey(c, path)
			if err != nil {
				return err
			}
			card := keys.Card{Name: cmp.Or(c.String("name"), k.Name), ID: k.Key.ID(), Addresses: c.StringSlice("address"),
				Relay: c.Bool("relay")}
			doc, err := card.Sign(k.Key)
			if err != nil {
				return err
			}
			out := cmp.Or(c.String("out"), cardBeside(path))
			if err := textfile.Replace(out, doc.Text()); err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.App.Writer, out)
			return err
		}),
	}
}

// keysShowCommand shows a key file or a card.
func keysShowCommand() *cli.Command {
	return &cli.Command{
		Name:      "show",
		Usage:     "show whose key file or card it is",
		ArgsUsage: "FILE",
		Description: `   hanse keys show bank.key
   hanse keys show insurer.card

Compare the id of a card with its owner over another channel, a telephone for
example, before it goes into a charter. No secret is ever printed.`,
		Flags: []cli.Flag{passphraseFileFlag(), jsonFlag()},
		Action: anyOrder(func(c *cli.Context) error {
			path, err := oneArgument(c, "key file or card", "FILE")
			if err != nil {
				return err
			}
			who, err := identify(c, path)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return terminal.JSON(c.App.Writer, who)
			}
			t := wording.NewTable(c.App.Writer, "")
			t.Row("name", cmp.Or(who.Name, "none"))
			t.Row("id", who.ID)
			if who.Kind == "card" {
				t.Row("addresses", cmp.Or(strings.Join(who.Addresses, ", "), "none: it only dials out"))
				if who.Relay {
					t.Row("relay", "it relays for members that cannot reach each other")
				}
			}
			return t.Flush()
		}),
	}
}

// identity is what keys show says in JSON.
type identity struct {
	Kind      string   `json:"kind"` // "key" or "card"
	Name      string   `json:"name"`
	ID        string   `json:"id"`
	Addresses []string `json:"addresses,omitempty"`
	Relay     bool     `json:"relay,omitempty"`
}

// identify reads a file of either kind.
func identify(c *cli.Context, path string) (identity, error) {
	text, err := textfile.Read(path, charterfile.MaxCard)
	if err != nil {
		return identity{}, err
	}
	defer clear(text)
	if bytes.Contains(text, []byte("\nformat = ")) {
		card, err := keys.ParseCard(text)
		if err != nil {
			return identity{}, fmt.Errorf("%s: %w", path, err)
		}
		return identity{Kind: "card", Name: card.Name, ID: card.ID.String(), Addresses: card.Addresses,
			Relay: card.Relay}, nil
	}
	k, err := loadKey(c, path)
	if err != nil {
		return identity{}, err
	}
	return identity{Kind: "key", Name: k.Name, ID: k.Key.ID().String()}, nil
}

// cardBeside returns where the card of a key file stands.
func cardBeside(path string) string { return strings.TrimSuffix(path, ".key") + ".card" }

// keyFlag names the member's key file.
func keyFlag() cli.Flag {
	return &cli.StringFlag{Name: "key", Usage: "this member's key `FILE`"}
}

// passphraseFileFlag lets a program give the passphrase of a key file.
func passphraseFileFlag() cli.Flag {
	return &cli.StringFlag{Name: "passphrase-file",
		Usage: "`FILE` whose first line is the key's passphrase (default: $" + passphrase.Variable + ", or ask)"}
}

// loadKey reads a member's key file.
func loadKey(c *cli.Context, path string) (*keys.KeyFile, error) {
	if path == "" {
		return nil, usage.Errorf("give the key file with --key FILE; hanse keys new makes one")
	}
	if err := owner.WithoutCores(); err != nil {
		return nil, err
	}
	return keys.LoadKeyFile(path, func() ([]byte, error) { return passphraseSource(c).Old(c.Context, path) })
}

// environmentKey is where the program keeps its environment's passphrase: several keys may be opened with it.
const environmentKey = "passphrase"

// passphraseSource is where the passphrase of a key file comes from.
func passphraseSource(c *cli.Context) passphrase.Source {
	return passphrase.Source{File: c.String("passphrase-file"), Person: person(c),
		Environment: c.App.Metadata[environmentKey].(*passphrase.Environment)}
}

// relayFlag says that the member relays.
func relayFlag() cli.Flag {
	return &cli.BoolFlag{Name: "relay", Usage: "relay for members that cannot reach each other (docs/network.md)",
		DisableDefaultText: true}
}
