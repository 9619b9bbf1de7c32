package main

// publishedUJI holds the figures of the uji set. None of ours are known: its files were never at hand.
func publishedUJI() []pofmklPublished {
	return []pofmklPublished{
		{algorithm: perFedAvg, paper: pofmklFigure{63.03, 0}},
		{algorithm: ofskl, chosen: 1, features: 100, paper: pofmklFigure{61.82, 2.76}},
		{algorithm: ofmklAvg, chosen: 51, features: 9, paper: pofmklFigure{55.44, 2.48}, regret: pofmklFigure{24.23, 20.33}},
		{algorithm: vmKOFL, chosen: 51, features: 9, paper: pofmklFigure{51.50, 2.30}, regret: pofmklFigure{22.28, 15.56}},
		{algorithm: emKOFL, chosen: 1, features: 100, paper: pofmklFigure{61.08, 2.73}, regret: pofmklFigure{27.26, 19.79}},
		{algorithm: pofMKL, chosen: 1, features: 100, paper: pofmklFigure{33.02, 1.48}, regret: pofmklFigure{13.23, 8.80}},
		{algorithm: pofMKL, chosen: 25, features: 20, paper: pofmklFigure{37.34, 1.67}, regret: pofmklFigure{15.41, 9.58}},
		{algorithm: pofMKL, chosen: 51, features: 9, paper: pofmklFigure{41.00, 1.83}, regret: pofmklFigure{17.23, 10.07}},
	}
}

// publishedWEC holds the figures of the wec set. None of ours are known: its files were never at hand.
func publishedWEC() []pofmklPublished {
	return []pofmklPublished{
		{algorithm: perFedAvg, paper: pofmklFigure{77.33, 0}},
		{algorithm: ofskl, chosen: 1, features: 100, paper: pofmklFigure{87.87, 3.93}},
		{algorithm: ofmklAvg, chosen: 51, features: 9, paper: pofmklFigure{34.01, 1.52}, regret: pofmklFigure{17.07, 14.52}},
		{algorithm: vmKOFL, chosen: 51, features: 9, paper: pofmklFigure{25.17, 1.12}, regret: pofmklFigure{12.65, 11.53}},
		{algorithm: emKOFL, chosen: 1, features: 100, paper: pofmklFigure{20.14, 0.93}, regret: pofmklFigure{10.43, 8.28}},
		{algorithm: pofMKL, chosen: 1, features: 100, paper: pofmklFigure{11.44, 0.52}, regret: pofmklFigure{6.37, 5.28}},
		{algorithm: pofMKL, chosen: 25, features: 20, paper: pofmklFigure{11.58, 0.53}, regret: pofmklFigure{6.41, 5.39}},
		{algorithm: pofMKL, chosen: 51, features: 9, paper: pofmklFigure{11.97, 0.55}, regret: pofmklFigure{6.51, 5.57}},
	}
}
