// Package figures says how good scores are: the figures that people read after a training and after a prediction of
// rows whose labels are known, each with a 95 % interval.
//
// All are pure functions of labels and scores. Numbers that are NaN or infinite are refused; rows with equal scores
// are treated alike, whatever their order; what labels that are all the same leave undefined is left out, not zero.
//
//	error, recall, precision   shares of rows; interval of Wilson (JASA 22, 1927, page 209)
//	AUC, Gini = 2 AUC - 1      DeLong, DeLong, Clarke-Pearson, Biometrics 44 (1988), equations 2 to 4; of the logit
//	KS                         the largest distance of the classes' distribution functions;
//	                           Smirnov below, Newcombe above
//	average precision          sum of precision over steps of recall, without interpolation; Wilson
//	log loss, Brier            means over rows, of probabilities; studentised bootstrap
//	RMSE, MAE, R2              studentised bootstrap
//	lift, calibration          shares by tenths of the rows; Wilson
//
// The bootstrap (Efron, Annals of Statistics 7, 1979) draws rows with replacement from a public seed: the same rows
// give the same interval, bit for bit, in whatever order they come. The tests in coverage draw
// tables whose figures are known, and count the intervals that hold them.
package figures
