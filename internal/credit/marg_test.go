package credit
import ("testing";"fmt";"slices")
func TestMarg(t *testing.T) {
	for _, p := range Generate(20000,1) { for _, c := range p.Table.Columns {
		if c.Levels != nil { n := make([]int, len(c.Levels)); for _, k := range c.Codes { n[k]++ }; fmt.Println(p.Name, c.Name, c.Levels, n); continue }
		v := slices.Sorted(slices.Values(c.Values)); N := len(v)
		fmt.Println(p.Name, c.Name, v[0], v[N/20], v[N/4], v[N/2], v[3*N/4], v[19*N/20], v[N-1]) } }
}
