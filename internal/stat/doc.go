// Package stat holds the two statistical tests by which views of the parties are judged: whether
// words look uniform, and whether two sets of words look alike. They find gross leaks, such as a
// mask that is missing or used twice; they prove nothing.
package stat
