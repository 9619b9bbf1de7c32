package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/internal/trial/online"
)

// clientProcesses is how many processes a demo's clients share, or one for each server if that is more.
const clientProcesses = 4

// startOnline starts a few processes for the clients and one for each server, and waits until all nodes
// answer.
func startOnline(ctx context.Context, l *trial.League, f *online.Federation, workers int) (*processes, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := new(processes)
	for s, server := range f.Servers {
		for _, group := range groupsOf(f.Clients[s], max(1, clientProcesses/len(f.Servers))) {
			p.names = append(p.names, groupName(group))
			if err := p.start(program, clientArgs(l, server, silenceOf(f), group), l.Path(group[0], "node.log")); err != nil {
				return nil, errors.Join(err, p.stop())
			}
		}
	}
	for s, name := range f.Servers {
		p.names = append(p.names, name)
		if err := p.start(program, serverArgs(l, f, s, workers), l.Path(name, "node.log")); err != nil {
			return nil, errors.Join(err, p.stop())
		}
	}
	names := append(slices.Clone(f.Servers), f.AllClients()...)
	for _, name := range names {
		if err := awaitNode(ctx, l.Path(name, "node"), startTime(len(names))); err != nil {
			return nil, errors.Join(p.explain(fmt.Errorf("%s: %w", name, err)), p.stop())
		}
	}
	return p, nil
}

// serverArgs is the command line of a server's node behind the program's name. It keeps links with its
// clients and the other servers, and has the servers' table if there is one.
func serverArgs(l *trial.League, f *online.Federation, server, workers int) []string {
	name := f.Servers[server]
	args := []string{"node", "--silence", silenceOf(f), "--key", l.Path(name, name+".key"), "--charter", l.CharterFile(), "--policy", l.Path(name, "policy.toml"),
		"--dir", l.Path(name, "node"), "--workers", fmt.Sprint(workers)}
	if f.Table != "" {
		args = append(args, "--data", "train="+l.Path(name, f.Table))
	}
	for _, other := range append(slices.Clone(f.Clients[server]), f.Servers...) {
		if other != name {
			args = append(args, "--neighbour", other)
		}
	}
	return args
}

// clientArgs is the command line of a process of several clients.
func clientArgs(l *trial.League, server, silence string, clients []string) []string {
	return append([]string{"demo-clients", "--league", l.Dir, "--server", server, "--silence", silence}, clients...)
}

// silenceOf is how long a node may be silent: longer where hundreds share a machine.
func silenceOf(f *online.Federation) string {
	return fmt.Sprint(4*time.Second + time.Duration(len(f.AllClients()))*100*time.Millisecond)
}

// groupsOf deals names to n groups, or fewer, of nearly the same size.
func groupsOf(names []string, n int) [][]string {
	n = min(n, len(names))
	var groups [][]string
	for i := range n {
		groups = append(groups, names[i*len(names)/n:(i+1)*len(names)/n])
	}
	return groups
}

// groupName names the process of a group.
func groupName(group []string) string {
	if len(group) == 1 {
		return group[0]
	}
	return group[0] + " to " + group[len(group)-1]
}
