package main

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/node/job"
)

// awaitJob returns when a member's node shows a job as it is wanted.
func (w *testNetwork) awaitJob(name, contract string, want func(node.JobInfo) bool) node.JobInfo {
	w.t.Helper()
	var last node.JobInfo
	for until := time.Now().Add(2 * time.Minute); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		list, err := w.client(name).Jobs(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		for _, j := range list {
			if j.Contract == contract {
				last = j
			}
		}
		if want(last) {
			return last
		}
	}
	w.t.Fatalf("%s shows the job as %+v\n%s", name, last, w.log(name))
	return last
}

// TestAJobThatKillsItsNode: a process that is killed in a job's session joins the next one when it is started again;
// when it was killed twice it does not, and says what to do. Another job of the same parties is done meanwhile, and so
// is the first one when its owner resumes it.
func TestAJobThatKillsItsNode(t *testing.T) {
	t.Parallel()
	w := newColumns(t, 3500)
	for _, name := range w.Names {
		w.start(name)
	}
	deadly := w.prepare(fdskl.Params{Loss: "square", Features: 1024, Lambda: 1e-4}, fdskl.Masked, "")
	ended := make(chan error, 1)
	go func() {
		_, err := w.client("bank").Launch(t.Context(), deadly, func(jobs.Event) {})
		ended <- err
	}()
	var session uint32
	for range 2 { // the second time is the control: once is not held back
		j := w.awaitJob("telco", deadly, func(j node.JobInfo) bool {
			return j.State == job.Running && j.Sessions > session
		})
		session = j.Sessions
		w.kill("telco", syscall.SIGKILL)
		w.start("telco")
	}
	j := w.awaitJob("telco", deadly, func(j node.JobInfo) bool { return j.Held })
	const says = "this node died in this job's session; hanse resume trial"
	if j.State != job.Paused || !strings.Contains(j.Reason, says) {
		t.Errorf("the telco's owner reads %s: %q", j.State, j.Reason)
	}
	other := w.prepare(fdskl.Params{Features: 16}, fdskl.Masked, "")
	if _, err := w.client("bank").Launch(t.Context(), other, func(jobs.Event) {}); err != nil {
		t.Errorf("another job of the same parties: %v", err)
	}
	if j := w.awaitJob("telco", deadly, func(node.JobInfo) bool { return true }); j.Sessions != session || !j.Held {
		t.Errorf("the telco has come to session %d, the last one before was %d", j.Sessions, session)
	}
	out, err := exec.Command(w.program, "resume", deadly[:8], "--dir", w.Path("telco", "node")).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Fatalf("hanse resume: %v, %s", err, out)
	}
	if err := <-ended; err != nil {
		t.Errorf("after hanse resume the job ends with %v", err)
	}
}
