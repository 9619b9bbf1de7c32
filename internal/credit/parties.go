package credit

import "math"

// feature is one column of a party's table.
type feature struct {
	name   string
	levels []string                // nil: numeric; else the texts, sorted, into which of returns an index
	of     func(p *person) float64 // draws from the person's own stream
}

// party is a firm and what it knows.
type party struct {
	name     string
	features []feature
}

// loading is the usual correlation of a column to its trait: six columns together tell the trait
// well, yet two of them correlate by 0.7 or so at most.
const loading = 0.8

// bank shows strain, and how much comes in.
func bank() []feature {
	return []feature{
		{name: "income", of: func(p *person) float64 { return nearest(10, amount(2400, 0.35, p.mix(0.8, p.wealth))) }},
		{name: "balance", of: func(p *person) float64 { return nearest(1, amount(1800, 0.6, p.mix(loading, -p.strain))) }},
		{name: "utilisation", of: func(p *person) float64 { return share(0.4, 1.1, p.mix(0.9, p.strain)) }},
		{name: "loan_amount", of: func(p *person) float64 {
			return nearest(100,
				amount(9000, 0.5, p.mix(loading, p.strain)))
		}},
		{name: "instalment_share", of: func(p *person) float64 { return share(0.25, 0.7, p.mix(loading, p.strain)) }},
		{name: "months_on_book", of: func(p *person) float64 { return between(1, 240, p.mix(0.4, -p.strain)) }},
		{name: "late_payments", of: func(p *person) float64 { return p.count(1.1*math.Exp(0.6*p.strain), 12) }},
	}
}

// insurer shows care; its regions hardly tell people apart.
func insurer() []feature {
	return []feature{
		{name: "age", of: func(p *person) float64 { return between(18, 85, p.mix(0.6, p.care)-0.3) }},
		{name: "claims", of: func(p *person) float64 { return p.count(1.2*math.Exp(-0.6*p.care), 10) }},
		{name: "premium", of: func(p *person) float64 { return nearest(1, amount(620, 0.35, p.mix(loading, -p.care))) }},
		{name: "policy_years", of: func(p *person) float64 { return between(0, 30, p.mix(loading, p.care)) }},
		{name: "no_claims_bonus", of: func(p *person) float64 { return share(0.45, 1.1, p.mix(0.9, p.care)) }},
		{name: "mileage", of: func(p *person) float64 { return nearest(100, amount(12000, 0.4, p.mix(loading, -p.care))) }},
		{name: "vehicle_age", of: func(p *person) float64 { return between(0, 20, p.mix(0.5, -p.wealth)) }},
		{name: "region", levels: []string{"centre", "east", "north", "south", "west"}, of: func(p *person) float64 {
			return p.pick(2*math.Exp(-0.3*p.care), 1, 1, 1.2, 1)
		}},
	}
}

// telco shows roots, in the plan as well.
func telco() []feature {
	return []feature{
		{name: "tenure", of: func(p *person) float64 { return between(1, 180, p.mix(0.9, p.roots)) }},
		{name: "data_use", of: func(p *person) float64 { return decimals(1, amount(9, 0.45, p.mix(loading, -p.roots))) }},
		{name: "top_ups", of: func(p *person) float64 { return p.count(1.5*math.Exp(-0.5*p.roots), 12) }},
		{name: "late_bills", of: func(p *person) float64 { return p.count(1.0*math.Exp(-0.6*p.roots), 10) }},
		{name: "roaming_days", of: func(p *person) float64 { return between(0, 60, p.mix(loading, -p.roots)-0.8) }},
		{name: "home_share", of: func(p *person) float64 { return share(0.6, 0.9, p.mix(loading, p.roots)) }},
		{name: "contacts", of: func(p *person) float64 { return nearest(1, amount(45, 0.35, p.mix(0.7, p.roots))) }},
		{name: "plan", levels: []string{"contract", "family", "prepaid"}, of: func(p *person) float64 {
			return p.pick(2, math.Exp(0.4*p.roots), 0.8*math.Exp(-0.4*p.roots))
		}},
	}
}

// retailer shows appetite.
func retailer() []feature {
	return []feature{
		{name: "basket", of: func(p *person) float64 { return decimals(2, amount(38, 0.4, p.mix(loading, p.appetite))) }},
		{name: "visits", of: func(p *person) float64 { return p.count(5*math.Exp(0.35*p.appetite), 30) }},
		{name: "returns", of: func(p *person) float64 { return p.count(1.1*math.Exp(0.6*p.appetite), 12) }},
		{name: "night_share", of: func(p *person) float64 { return share(0.2, 0.8, p.mix(loading, p.appetite)) }},
		{name: "discount_share", of: func(p *person) float64 { return share(0.35, 0.8, p.mix(loading, -p.appetite)) }},
		{name: "brand_share", of: func(p *person) float64 { return share(0.5, 1.0, p.mix(0.9, p.appetite)) }},
		{name: "loyalty_years", of: func(p *person) float64 { return between(0, 20, p.mix(0.3, p.roots)) }},
	}
}
