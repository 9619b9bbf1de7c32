package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/keys"
)

// roleAny stands in --role for no roles: the member may have any.
const roleAny = "any"

// roleFlag gives members roles.
func roleFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "role", Usage: "`ROLE=MEMBER`, what a member may be in jobs over clients: server, client, or any; give it again for more", DefaultText: "any for all"}
}

// rolesGiven reads --role: the roles of each member that it names, none for any.
func rolesGiven(c *cli.Context) (map[string][]string, error) {
	roles := make(map[string][]string)
	for _, v := range c.StringSlice("role") {
		role, name, ok := strings.Cut(v, "=")
		if !ok || role != keys.RoleServer && role != keys.RoleClient && role != roleAny {
			return nil, usagef("--role %s: want server=MEMBER, client=MEMBER or any=MEMBER", v)
		}
		before, again := roles[name]
		if again && (role == roleAny || len(before) == 0) {
			return nil, usagef("--role %s: %s has been given another role, and any stands alone", v, name)
		}
		if role == roleAny {
			roles[name] = nil
		} else {
			roles[name] = append(before, role)
		}
	}
	return roles, nil
}

// setRoles gives the members of a draft the roles of --role, in place of those they had.
func setRoles(c *cli.Context, draft *keys.Charter) error {
	roles, err := rolesGiven(c)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(roles)) {
		if err := draft.SetRoles(name, roles[name]...); err != nil {
			return err
		}
	}
	return nil
}

// serversFor lists the members that a member's node keeps links with when nothing else is said: the
// servers, for one that may be a client alone. nil stands for all members.
func serversFor(self keys.ID, charter *keys.SignedCharter) []keys.ID {
	if charter.Allows(self, keys.RoleServer) {
		return nil
	}
	var ids []keys.ID
	for _, m := range charter.MayServe() {
		ids = append(ids, m.ID)
	}
	return ids
}
