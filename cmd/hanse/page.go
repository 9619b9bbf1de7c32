package main

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/terminal"
)

// pageCommand gives out links to the node's page.
func pageCommand() *cli.Command {
	return &cli.Command{
		Name:  "page",
		Usage: "print a link to this node's page: members, jobs, what has left, what waits for you",
		Description: `The node serves its page to browsers on this machine alone. The link shows a button that
opens it once, in one browser, within 10 minutes; that browser may then see and decide,
in your name, for 12 hours. Run the command again for another link.

   hanse page --dir bank-node
   hanse page --dir bank-node --listen 127.0.0.1:8085
   hanse page --dir bank-node --close                   # all links and sessions end

The node may run on a server, and your browser elsewhere. With a socket no port is open
to other users of the server:

   hanse page --dir bank-node --listen bank-node/page.sock
   ssh -L 8085:/srv/bank-node/page.sock server          # on your machine; then the link

docs/page.md shows what is on it, and who is kept out how.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "listen", Usage: "listen on this loopback `ADDRESS`, or on a socket at this path",
				DefaultText: "where the page listens already, else a free port of 127.0.0.1"},
			&cli.BoolFlag{Name: "close", Usage: "close the page"},
			jsonFlag(),
			dirFlag(),
		},
		Action: func(c *cli.Context) error {
			client, err := node.NewClient(c.String("dir"))
			if err != nil {
				return err
			}
			if c.Bool("close") {
				return client.ClosePage(c.Context)
			}
			listen := c.String("listen")
			if strings.ContainsRune(listen, filepath.Separator) { // the node runs in another folder
				if listen, err = filepath.Abs(listen); err != nil {
					return err
				}
			}
			opened, err := client.OpenPage(c.Context, listen)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return terminal.JSON(c.App.Writer, opened)
			}
			fmt.Fprintln(c.App.Writer, opened.Link)
			tunnel := opened.Socket
			link, err := url.Parse(opened.Link)
			if err != nil {
				return err
			}
			if tunnel == "" {
				tunnel = link.Host
			}
			fmt.Fprintf(c.App.ErrWriter, "opens the page once, within 10 minutes; from another machine, first there\n"+
				"    ssh -L %s:%s SERVER\n", link.Port(), tunnel)
			return nil
		},
	}
}
