package daemon

import (
	"slices"
	"testing"
	"time"

	"github.com/hanse-project/hanse/keys"
)

// TestNeighboursByRole: a client alone keeps links with those who may serve, others with all, and
// whoever names members with those.
func TestNeighboursByRole(t *testing.T) {
	draft := keys.Charter{Name: "fleet", Version: 1, Created: time.Unix(0, 0)}
	keyOf := make(map[string]*keys.PrivateKey)
	for _, name := range []string{"office", "ship", "yard", "boat"} {
		k, err := keys.GenerateKey()
		must(t, err)
		keyOf[name] = k
		draft.Admit(keys.Card{Name: name, ID: k.ID()})
	}
	ids := func(names ...string) (list []keys.ID) {
		for _, name := range names {
			list = append(list, keyOf[name].ID())
		}
		return list
	}
	clients := map[string]string{"ship": keys.RoleClient, "boat": keys.RoleClient}
	for _, c := range []struct {
		self  string
		roles map[string]string
		named []string
		want  []keys.ID
	}{
		{"ship", nil, nil, nil},
		{"ship", clients, nil, ids("office", "yard")},
		{"office", clients, nil, nil},
		{"ship", map[string]string{"ship": keys.RoleClient, "office": keys.RoleServer, "yard": keys.RoleClient,
			"boat": keys.RoleClient}, nil, ids("office")},
		{"ship", clients, []string{"boat"}, ids("boat")},
		{"office", clients, []string{"yard"}, ids("yard")},
		{"ship", map[string]string{"ship": keys.RoleClient, "office": keys.RoleClient, "yard": keys.RoleClient,
			"boat": keys.RoleClient}, nil, nil},
	} {
		draft.Roles = nil
		for name, role := range c.roles {
			must(t, draft.SetRoles(name, role))
		}
		charter, err := keys.NewCharter(draft)
		must(t, err)
		near, given, err := Config{Key: keyOf[c.self], Charter: charter, Neighbours: c.named}.near()
		if err != nil || !slices.Equal(near, c.want) || (near == nil) != (c.want == nil) {
			t.Errorf("%s under %v, naming %v: neighbours %v, %v, want %v", c.self, c.roles, c.named, near, err, c.want)
		}
		if c.named != nil && given != nil {
			t.Errorf("%s names members and has the charter's servers all the same", c.self)
		}
	}
}

// must ends the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
