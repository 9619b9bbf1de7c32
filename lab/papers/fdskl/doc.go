// Package fdskl repeats the experiments of the FDSKL paper (Gu, Dang, Li, Huang, section 4): its Figures 3 to 6, its
// Table 4, and the bound of its Theorem 4 beside a run. What they measure is the program itself, in one process: its
// training with all parties' columns, its masked sums over links in memory and over TLS, with package rivals beside
// it. Only how errors and times are taken is decided here; package hanselab has the flags.
package fdskl
