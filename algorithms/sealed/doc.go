// Package sealed is FDSKL (see package fdskl) for parties of whom nobody may see an angle: the label holder learns
// scores and nothing else.
//
//	f(x) = intercept + offset + sum_i beta_i cos(theta_i(x))
//
// where theta_i is the total of the parties' partial turns and phases. Three of the parties, the label
// holder, the keeper and the helper, hold shares of the features, of the Gram matrix and of the coefficients
// (package rss); the others add their turns under masks, as in the masked mode.
//
//	further parties      label holder          keeper              helper
//	  masked turns ─────▶ A0 = theta + r       r ◀── pair key ──▶ r
//	                      cos A0, sin A0 ─────▶ (pad) ────────────▶ other part
//	                                            cos(A0 - r) = cos theta, in two parts, re-shared
//	  Gram matrix, right side: local products, nothing sent
//	  Chebyshev steps: local products, one truncation each
//	  a score: a local product, one truncation, a sum that opens
//
// Each of the three may be curious, alone or with any of the others outside; any two of the three together can
// rebuild everything. Names and letters of the mathematics: A, K and H are the three; sz, sy, gs and bs
// are the bits behind the point of features, labels, Gram matrix and coefficients.
package sealed
