// Package joint has what all algorithms over columns of the same rows have in common: what one says of itself
// (Algorithm), of a training, a part of a model and a prediction (Training, Part, Prediction), and what a party's node
// offers it in a session (Session). Nodes and auditors know an algorithm by these alone.
package joint
