package main

import "github.com/hanse-project/hanse/algorithms/ofmsft"

// publishedOFMSFT returns what the paper's Tables 1, 3 and 4 say of a case, with the deviation over clients, and what earlier runs came to;
// nil for what is not known. The paper does not tell updates apart.
func publishedOFMSFT(set string, c ofmsftCase) (paper, spec *pofmklFigure) {
	if c.step > 0 {
		return nil, nil
	}
	paper = find(paperOFMSFT(set), ofmsftCase{algorithm: c.algorithm, budget: c.budget})
	return paper, find(specOFMSFT(set), c)
}

// find returns a copy of a case's figure, nil if there is none.
func find(known map[ofmsftCase]pofmklFigure, c ofmsftCase) *pofmklFigure {
	if f, ok := known[c]; ok {
		return &f
	}
	return nil
}

// paperOFMSFT holds the paper's figures.
func paperOFMSFT(set string) map[ofmsftCase]pofmklFigure {
	of := func(algorithm string, budget float64) ofmsftCase {
		return ofmsftCase{algorithm: algorithm, budget: budget}
	}
	if set == setMNIST {
		return map[ofmsftCase]pofmklFigure{
			of(ofmsFT, 2): {89.87, 3.33}, of(ofmsFT, 5): {92.05, 2.69}, of(ofmsFT, 10): {92.93, 2.58},
			of(ofmsMAB, tableOne): {84.37, 5.18}, of(nonFedOMS, tableOne): {85.06, 7.30}, of(rmsFT, tableOne): {88.33, 4.25},
			of(bFedOMFT, tableOne): {89.46, 4.71}, of(fedOMD, tableOne): {88.69, 5.16}, of(perFedAvg, tableOne): {89.71, 4.93},
		}
	}
	return map[ofmsftCase]pofmklFigure{
		of(ofmsFT, 2): {7.51, 4.82}, of(ofmsFT, 5): {7.46, 5.10}, of(ofmsFT, 10): {7.38, 4.86},
		of(ofmsMAB, tableOne): {8.97, 6.82}, of(nonFedOMS, tableOne): {8.82, 6.70}, of(rmsFT, tableOne): {7.87, 5.22},
		of(bFedOMFT, tableOne): {8.09, 5.55}, of(fedOMD, tableOne): {11.37, 7.16}, of(perFedAvg, tableOne): {11.29, 7.08},
	}
}

// specOFMSFT holds the figures of earlier runs with other draws.
func specOFMSFT(set string) map[ofmsftCase]pofmklFigure {
	const none, sum, inPlace = ofmsft.UpdateNone, ofmsft.UpdateEquation11, ofmsft.UpdateInPlace
	if set == setMNIST {
		return map[ofmsftCase]pofmklFigure{
			{ofmsFT, none, 2, 0}: {89.7, 0}, {ofmsFT, none, 5, 0}: {91.8, 0}, {ofmsFT, none, 10, 0}: {92.6, 0},
		}
	}
	return map[ofmsftCase]pofmklFigure{
		{ofmsFT, sum, 2, 0}: {8.48, 6.28}, {ofmsFT, sum, 5, 0}: {8.35, 6.13}, {ofmsFT, sum, 10, 0}: {8.37, 6.26},
		{ofmsFT, inPlace, 2, 0}: {7.47, 4.90}, {ofmsFT, inPlace, 5, 0}: {7.40, 4.89}, {ofmsFT, inPlace, 10, 0}: {7.37, 4.86},
		{ofmsFT, none, 2, 0}: {8.60, 0}, {ofmsFT, none, 5, 0}: {8.51, 0}, {ofmsFT, none, 10, 0}: {8.46, 0},
		{ofmsMAB, none, tableOne, 0}: {9.26, 0}, {nonFedOMS, none, tableOne, 0}: {8.89, 0},
		{rmsFT, inPlace, tableOne, 0}: {8.19, 0}, {rmsFT, none, tableOne, 0}: {9.82, 0},
		{bFedOMFT, inPlace, tableOne, 0}: {7.43, 0}, {bFedOMFT, none, tableOne, 0}: {8.71, 0},
	}
}
