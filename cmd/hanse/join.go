package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/enrol"
	"github.com/hanse-project/hanse/internal/textfile"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer"
	"github.com/hanse-project/hanse/protocol"
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
			&cli.StringFlag{Name: "card", Usage: "the card `FILE` that the inviter was given (default: the one beside the key, if it is there)"},
			&cli.StringFlag{Name: "out", Aliases: []string{"o"}, Value: "charter.toml", Usage: "the `FILE` for the charter, which must not exist"},
			&cli.BoolFlag{Name: "wait", Value: true, Usage: "wait for the other signatures; --wait=false leaves after signing"},
			yesFlag(), jsonFlag(),
		},
		Action: anyOrder(runJoin),
	}
}

// newcomer is one run of the command.
type newcomer struct {
	c         *cli.Context
	who       enrol.Newcomer
	addresses []string // of the inviter's node
	warned    bool     // of clocks that differ
}

// runJoin joins a charter.
func runJoin(c *cli.Context) error {
	n, err := newNewcomer(c)
	if err != nil {
		return err
	}
	conn, err := n.dial(c.Context)
	if err != nil {
		return err
	}
	n.say("connected to %s", conn.Peer())
	charter, err := n.join(conn)
	if err != nil || charter == nil {
		return plainRemote(err)
	}
	return n.keep(charter)
}

// newNewcomer reads what the command line names, before anybody is called.
func newNewcomer(c *cli.Context) (*newcomer, error) {
	where, err := oneArgument(c, "address, or invitation", "ADDRESS")
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(c.String("out")); err == nil {
		return nil, fmt.Errorf("%s: %w: say with -o FILE where the charter goes", c.String("out"), fs.ErrExist)
	}
	key, err := loadKey(c, c.String("key"))
	if err != nil {
		return nil, err
	}
	n := &newcomer{c: c, who: enrol.Newcomer{Key: key.Key}}
	if n.who.Card, err = ownCard(c, key.Key.ID()); err != nil {
		return nil, err
	}
	if c.IsSet("inviter") {
		if n.who.Inviter, err = keys.ParseID(c.String("inviter")); err != nil {
			return nil, usagef("--inviter: %v", err)
		}
	}
	return n, n.locate(where)
}

// ownCard reads the newcomer's card, nil when there is none to compare with.
func ownCard(c *cli.Context, id keys.ID) (*keys.Card, error) {
	path := c.String("card")
	if path == "" {
		path = cardBeside(c.String("key"))
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	card, err := readCard(path)
	if err != nil {
		return nil, err
	}
	if card.ID != id {
		return nil, fmt.Errorf("%s: it is the card of another key, %s", path, card.ID.Short())
	}
	return &card, nil
}

// locate takes the inviter's address, or an invitation that names it.
func (n *newcomer) locate(where string) error {
	if !strings.HasSuffix(where, ".toml") {
		n.addresses = []string{where}
		return nil
	}
	text, err := textfile.Read(where, maxCard)
	if err != nil {
		return err
	}
	i, _, err := keys.ParseInvitation(text, time.Now())
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	if !n.who.Inviter.IsZero() && n.who.Inviter != i.Inviter {
		return fmt.Errorf("%s: it is from %s, not from %s", where, i.Inviter, n.who.Inviter)
	}
	n.who.Inviter, n.addresses = i.Inviter, i.Address
	return nil
}

// dial connects to the inviter's node, at the first address that answers.
func (n *newcomer) dial(ctx context.Context) (enrol.Conn, error) {
	var problems []string
	for _, address := range n.addresses {
		conn, err := peer.DialJoin(ctx, n.who.Key, address)
		if err == nil {
			if text := conn.ClockTrouble(); text != "" && !n.warned {
				n.say("warning: %s", text)
				n.warned = true
			}
			return conn, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		problems = append(problems, err.Error())
	}
	return nil, errors.New(strings.Join(problems, "; "))
}

// join fetches, shows, signs and waits. The charter is nil when the other signatures are not waited
// for. It closes conn.
func (n *newcomer) join(conn enrol.Conn) (*keys.SignedCharter, error) {
	offer, err := n.who.Fetch(n.c.Context, conn)
	if err == nil && !offer.InForce() && !offer.Proposal.SignedBy(n.who.Key.ID()) {
		err = n.sign(conn, offer)
	}
	switch {
	case err != nil:
		return nil, errors.Join(err, conn.Close())
	case offer.InForce():
		return offer.Proposal, conn.Close()
	case !n.c.Bool("wait"):
		n.say("the same command fetches the charter when the others have signed")
		return nil, conn.Close()
	}
	return n.wait(conn, offer)
}

// sign shows the offer, asks, and hands over the signature.
func (n *newcomer) sign(conn enrol.Conn, o *enrol.Offer) error {
	m, _ := o.Proposal.Member(n.who.Key.ID())
	n.say("%s invites %s to join, until %s\n", o.Inviter.Name, m.Name, o.Expires.Format(time.RFC3339))
	if err := showCharter(n.c.App.ErrWriter, o.Proposal, o.Parent); err != nil {
		return err
	}
	if n.who.Inviter.IsZero() {
		n.say("\ncompare the id of %s with its owner over another channel: nothing else says who answered", o.Inviter.Name)
	}
	if !n.c.Bool("yes") {
		yes, err := agree(n.c, fmt.Sprintf("\nsign this charter as %s?", m.Name))
		if errors.Is(err, errNobody) {
			return fmt.Errorf("%w whether to sign this charter: give --yes to sign it", err)
		}
		if err != nil {
			return err
		}
		if !yes {
			return errNotSigned
		}
	}
	if err := n.who.Sign(n.c.Context, conn, o); err != nil {
		return err
	}
	n.say("%s has your signature", o.Inviter.Name)
	return nil
}

// wait follows the other signatures.
func (n *newcomer) wait(conn enrol.Conn, o *enrol.Offer) (*keys.SignedCharter, error) {
	charter, err := enrol.Wait{
		Dial:    n.dial,
		Missing: func(names []string) { n.say("waiting for the signatures of %s", strings.Join(names, ", ")) },
		Trouble: func(err error) { n.say("%s cannot be reached, trying on: %v", o.Inviter.Name, err) },
	}.Until(n.c.Context, conn, o)
	if n.c.Context.Err() != nil {
		n.say("\nyour signature stays with %s: the same command fetches the charter when the others have signed", o.Inviter.Name)
	}
	return charter, err
}

// keep stores the charter and says what comes next.
func (n *newcomer) keep(charter *keys.SignedCharter) error {
	path := n.c.String("out")
	if err := textfile.Create(path, charter.Text()); err != nil {
		return err
	}
	if n.c.Bool("json") {
		return printJSON(n.c, reportOf(charter, path))
	}
	fmt.Fprintf(n.c.App.Writer, "%s: %s\n", path, standing(charter))
	n.say("next: start the node: hanse node --key %s --charter %s --data FILE", n.c.String("key"), path)
	return nil
}

// say tells the person at the screen.
func (n *newcomer) say(format string, args ...any) {
	fmt.Fprintf(n.c.App.ErrWriter, format+"\n", args...)
}

// plainRemote leaves out of an answer of the inviter's node which method it was to.
func plainRemote(err error) error {
	if remote := (*protocol.RemoteError)(nil); errors.As(err, &remote) {
		return fmt.Errorf("the inviter's node says: %s", remote.Fault)
	}
	return err
}
