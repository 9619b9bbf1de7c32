package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/enrol"
	"github.com/hanse-project/hanse/keys"
)

// errNotSigned says that a person read a text and did not want to sign it.
var errNotSigned = errors.New("not signed: nothing was changed")

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
		Action: anyOrder(charterSign),
	}
}

// charterSign adds signatures to a charter.
func charterSign(c *cli.Context) error {
	if c.String("key") == "" && len(c.StringSlice("merge")) == 0 {
		return usagef("sign with --key FILE.key, or add the signatures of another copy with --merge FILE")
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
		if err := mergeSignatures(c, charter, path, other); err != nil {
			return err
		}
	}
	if c.String("key") != "" {
		if err := addOwnSignature(c, charter, parent); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if err := storeSignatures(charter, path); err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(c, reportOf(charter, path))
	}
	fmt.Fprintf(c.App.Writer, "%s: %s\n", path, standing(charter))
	return nil
}

// storeSignatures adds the signatures to the file. A node that carries the charter round may have
// added others since it was read.
func storeSignatures(charter *keys.SignedCharter, path string) error {
	return enrol.UpdateFile(path, func(text []byte) ([]byte, error) {
		now, err := keys.ParseCharter(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if now.Digest() != charter.Digest() {
			return nil, fmt.Errorf("%s: it has become another text since it was read, with the hash %s: nothing was signed", path, now.Digest().Short())
		}
		for id, sig := range now.Signatures {
			if err := charter.AddSignature(id, sig); err != nil {
				return nil, err
			}
		}
		return charter.Text(), nil
	})
}

// mergeSignatures adds the signatures of another copy of the same text.
func mergeSignatures(c *cli.Context, charter *keys.SignedCharter, path, otherPath string) error {
	other, err := readCharter(otherPath)
	if err != nil {
		return err
	}
	if other.Digest() != charter.Digest() {
		return fmt.Errorf("%s is another text than %s, so that its signatures do not count there: the hashes are %s and %s",
			otherPath, path, other.Digest().Short(), charter.Digest().Short())
	}
	for _, m := range charter.Members {
		if !other.SignedBy(m.ID) || charter.SignedBy(m.ID) {
			continue
		}
		if err := charter.AddSignature(m.ID, other.Signatures[m.ID]); err != nil {
			return err
		}
		fmt.Fprintf(c.App.ErrWriter, "%s: added the signature of %s\n", path, m.Name)
	}
	return nil
}

// addOwnSignature signs a charter, once the owner of the key has seen it and agreed.
func addOwnSignature(c *cli.Context, charter, parent *keys.SignedCharter) error {
	key, err := loadKey(c, c.String("key"))
	if err != nil {
		return err
	}
	m, ok := charter.Member(key.Key.ID())
	if ok && charter.SignedBy(m.ID) {
		fmt.Fprintf(c.App.ErrWriter, "%s has signed it before\n", m.Name)
		return nil
	}
	if _, person := terminal(c); ok && person && !c.Bool("yes") {
		if err := askToSign(c, charter, parent, m.Name); err != nil {
			return err
		}
	}
	return charter.Sign(key.Key)
}

// askToSign shows a charter to the person who is to sign it.
func askToSign(c *cli.Context, charter, parent *keys.SignedCharter, name string) error {
	if err := showCharter(c.App.ErrWriter, charter, parent); err != nil {
		return err
	}
	yes, err := agree(c, fmt.Sprintf("\nsign this charter as %s?", name))
	if err != nil {
		return err
	}
	if !yes {
		return errNotSigned
	}
	return nil
}
