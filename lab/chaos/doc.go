// Package chaos breaks federations of real node processes and judges what becomes of their jobs.
//
// A trial is one federation on this machine, one job and one fault. Its kind says which fault; victim, moment and
// details are drawn from its seed, so that a failure can be tried again. A moment is a time within the usual length
// of the job, or one of the changes of files in the victim's folder: what goes wrong between two writes is hardly
// met by the clock. When the fault is over, the trial waits until every job has ended at every party, compares the
// result with that of a run without a fault, and gives a verdict:
//
//	right     the job is done everywhere and its result is right
//	degraded  the program names the file or the party and refuses, or waits and says what would help
//	failed    a crash, a state that never ends, a refusal without a name, an exit code that lies
//	silent    a failure of the worst kind: a wrong result, and nobody says so
//	skipped   this machine does not let the fault be made
//
// Faults that pass by themselves, such as a kill and a restart, must leave a right result. Those that last, such as
// a damaged file, may also leave a degraded one.
package chaos
