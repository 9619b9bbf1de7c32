package pofmkl

import "github.com/hanse-project/hanse/lab"

// publishedUJI holds the figures of the uji set. None of ours are known: its files were never at hand.
func publishedUJI() []tableRow {
	cited := lab.Cited
	return []tableRow{
		{algorithm: PerFedAvg, paper: cited(63.03, 0)},
		{algorithm: ofskl, chosen: 1, features: 100, paper: cited(61.82, 2.76)},
		{algorithm: ofmklAvg, chosen: 51, features: 9, paper: cited(55.44, 2.48), regret: cited(24.23, 20.33)},
		{algorithm: vmKOFL, chosen: 51, features: 9, paper: cited(51.50, 2.30), regret: cited(22.28, 15.56)},
		{algorithm: emKOFL, chosen: 1, features: 100, paper: cited(61.08, 2.73), regret: cited(27.26, 19.79)},
		{algorithm: pofMKL, chosen: 1, features: 100, paper: cited(33.02, 1.48), regret: cited(13.23, 8.80)},
		{algorithm: pofMKL, chosen: 25, features: 20, paper: cited(37.34, 1.67), regret: cited(15.41, 9.58)},
		{algorithm: pofMKL, chosen: 51, features: 9, paper: cited(41.00, 1.83), regret: cited(17.23, 10.07)},
	}
}

// publishedWEC holds the figures of the wec set. None of ours are known: its files were never at hand.
func publishedWEC() []tableRow {
	cited := lab.Cited
	return []tableRow{
		{algorithm: PerFedAvg, paper: cited(77.33, 0)},
		{algorithm: ofskl, chosen: 1, features: 100, paper: cited(87.87, 3.93)},
		{algorithm: ofmklAvg, chosen: 51, features: 9, paper: cited(34.01, 1.52), regret: cited(17.07, 14.52)},
		{algorithm: vmKOFL, chosen: 51, features: 9, paper: cited(25.17, 1.12), regret: cited(12.65, 11.53)},
		{algorithm: emKOFL, chosen: 1, features: 100, paper: cited(20.14, 0.93), regret: cited(10.43, 8.28)},
		{algorithm: pofMKL, chosen: 1, features: 100, paper: cited(11.44, 0.52), regret: cited(6.37, 5.28)},
		{algorithm: pofMKL, chosen: 25, features: 20, paper: cited(11.58, 0.53), regret: cited(6.41, 5.39)},
		{algorithm: pofMKL, chosen: 51, features: 9, paper: cited(11.97, 0.55), regret: cited(6.51, 5.57)},
	}
}
