package keys

import (
	"fmt"
	"testing"
)

// BenchmarkParseCharter reads charters signed by all their members.
func BenchmarkParseCharter(b *testing.B) {
	for _, members := range []int{3, 100, 1000} {
		c := threeMembers()
		c.Members = nil
		var names []string
		for i := range members {
			names = append(names, fmt.Sprint("client-", i))
			c.Members = append(c.Members, memberNamed(names[i], fmt.Sprintf("/dns4/node-%d.example/tcp/4001", i)))
		}
		text := mustCharter(b, c, names...).Text()
		b.Run(fmt.Sprint("members=", members), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				s, err := ParseCharter(text)
				if err != nil || s.Complete() != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
