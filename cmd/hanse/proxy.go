package main

import (
	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/peer"
)

// proxyFlag names what makes connections for this machine.
func proxyFlag() cli.Flag {
	return &cli.StringFlag{Name: "proxy", Usage: "dial other members through the HTTP proxy at this `URL`",
		DefaultText: "HTTPS_PROXY; none"}
}

// proxyOf is the proxy that the command line or the environment names, nil for none.
func proxyOf(c *cli.Context) (*peer.Proxy, error) {
	p, err := peer.NewProxy(c.String("proxy"))
	if err != nil {
		return nil, usage.Errorf("--proxy: %v", err)
	}
	return p, nil
}
