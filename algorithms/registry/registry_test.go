package registry_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/protocol/contract"
)

// jobOf is a job of three over columns, with bins where it is a scorecard.
func jobOf(privacy, task string, binned bool) (*contract.Job, []contract.Facts) {
	names := []string{"bank", "insurer", "telco"}
	job := &contract.Job{Algorithm: contract.FDSKL, Privacy: privacy, Task: task, Parties: names, Shards: 2,
		Parameters: map[string]any{"active": names[:1], "label": "y", "loss": "square", "sigma": 1.0, "features": int64(64)}}
	if task == contract.TaskPredict {
		job.OpenTo = "telco"
	}
	if privacy == fdskl.Sealed {
		job.Parameters["keeper"], job.Parameters["helper"] = "insurer", "telco"
	}
	if binned {
		job.Algorithm = contract.GLM
		job.Parameters = map[string]any{"active": names[:1], "label": "y", "loss": "square", "bins": int64(4),
			"keeper": "insurer", "helper": "telco"}
	}
	var facts []contract.Facts
	for i, name := range names {
		facts = append(facts, contract.Facts{Name: name, Rows: 80_000, Columns: i + 1, Bins: 4 * (i + 1)})
	}
	return job, facts
}

// partOf is the telco's part of the model that a prediction scores with; nil for a training.
func partOf(t *testing.T, job *contract.Job) joint.Part {
	t.Helper()
	if job.Task != contract.TaskPredict {
		return nil
	}
	p, err := fdskl.ParamsOf(job.Parameters, job.Parties)
	if err != nil {
		t.Fatal(err)
	}
	m := &fdskl.Model{Version: 2, Names: job.Parties, Params: p, Privacy: job.Privacy, Sigma: 1, Scale: 1,
		Classes: []string{"no", "yes"}, Normaliser: new(kernel.Normaliser)}
	if job.Privacy == fdskl.Sealed {
		m.Params = sealed.WithDefaults(p)
	}
	data, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	part, err := registry.Program().Part(&contract.Contract{Job: job}, data)
	if err != nil {
		t.Fatal(err)
	}
	return part
}

// TestEachSessionHasItsCode: what a session opens, and whether it shares, follows from the mode, from the task and from
// whether the session is one of a shard.
func TestEachSessionHasItsCode(t *testing.T) {
	for _, c := range []struct {
		privacy, task string
		binned, shard bool
		opens, shares bool
	}{
		{fdskl.Masked, contract.TaskTrain, false, false, true, false},
		{fdskl.Masked, contract.TaskTrain, false, true, true, false},
		{fdskl.Masked, contract.TaskPredict, false, true, true, false},
		{fdskl.Sealed, contract.TaskTrain, false, false, true, true},
		{fdskl.Sealed, contract.TaskTrain, false, true, false, true},
		{fdskl.Sealed, contract.TaskTrain, true, true, false, true},
		{fdskl.Sealed, contract.TaskPredict, false, true, false, true},
		{fdskl.Sealed, contract.TaskPredict, false, false, true, false}, // the shards have made the scores' shares
	} {
		job, facts := jobOf(c.privacy, c.task, c.binned)
		var shard *contract.Shard
		if c.shard {
			shard = &contract.Shard{Of: 2, First: 0, Rows: 43_690}
		}
		part := partOf(t, job)
		session, err := registry.Program().Outline(job, part, facts, shard)
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		d, err := session.Disclose()
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		shares := false
		for _, op := range d.Operations {
			shares = shares || op.Collective == contract.CollectiveDirect && op.Class == contract.ClassMasked.String()
		}
		if opens := len(d.Openings) > 0; opens != c.opens || shares != c.shares {
			t.Errorf("%+v: it opens %t and shares %t", c, opens, shares)
		}
		list, err := session.Cut(job.Shards)
		if err != nil || len(list) != 2 || list[0].Of != 2 || list[1].First != list[0].Rows ||
			list[1].First+list[1].Rows != 80_000 {
			t.Errorf("%+v: shards %+v, %v, want all rows", c, list, err)
		}
	}
}

// TestOnlyAsManyShardsAsBlocks and no job is cut into more.
func TestOnlyAsManyShardsAsBlocks(t *testing.T) {
	job, facts := jobOf(fdskl.Masked, contract.TaskPredict, false)
	session, err := registry.Program().Outline(job, partOf(t, job), facts, nil)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := session.Cut(21); err == nil {
		t.Errorf("20 blocks are cut into %+v", list)
	}
	for _, s := range []contract.Shard{
		{First: 1, Rows: 80_000}, {First: -1, Rows: 2}, {First: 2}, {First: 1 << 62, Rows: 1 << 62},
	} {
		_, err := registry.Program().Outline(job, partOf(t, job), facts, &s)
		if err == nil || !strings.HasSuffix(err.Error(), "the job has 80000") {
			t.Errorf("%d rows from row %d on are a shard: error %v", s.Rows, s.First, err)
		}
	}
}

// TestListsAreChecked: each algorithm has a name of its own and what jobs need.
func TestListsAreChecked(t *testing.T) {
	for name, want := range map[string]string{"mean": "", "gfml": "two are", "glm": "two are", "": "lacks its"} {
		columns, clients := registry.Program(), registry.Program()
		one, other := *columns.Columns[0], *clients.Clients[0]
		one.Name, other.Name = name, name
		columns.Columns, clients.Clients = append(columns.Columns, &one), append(clients.Clients, &other)
		for _, l := range []registry.List{columns, clients} {
			err := l.Check()
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%q: error %v", name, err)
			}
		}
	}
	if err := (registry.List{}).Check(); err != nil {
		t.Error(err)
	}
}

// TestAGoalHasALabelHolder: nodes ask for the first party that holds labels without looking whether there is one.
func TestAGoalHasALabelHolder(t *testing.T) {
	active := []string{"bank"}
	list := registry.List{Columns: []*joint.Algorithm{{Name: "line", Goal: func(*contract.Job) (joint.Goal, error) {
		return joint.Goal{Active: active}, nil
	}}}}
	job := &contract.Job{Algorithm: "line", Task: contract.TaskTrain}
	if _, err := list.Goal(job); err != nil {
		t.Error(err)
	}
	if active = nil; list.Sharers(&contract.Contract{Job: job}) != (joint.Sharers{}) {
		t.Error("shares are held without a label holder")
	}
	const want = `algorithm "line" names no party that holds labels`
	if _, err := list.Goal(job); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestJobsAreOfTheirAlgorithm: what is of one algorithm is refused under the name of another, in trainings and in
// predictions, and a part of a sealed model is one of package sealed.
func TestJobsAreOfTheirAlgorithm(t *testing.T) {
	bins, _ := jobOf(fdskl.Sealed, contract.TaskTrain, true)
	wide, _ := jobOf(fdskl.Sealed, contract.TaskTrain, false)
	for want, change := range map[string]func(j *contract.Job){
		"bins are of jobs with algorithm": func(j *contract.Job) { j.Algorithm = contract.FDSKL },
		"are always \"sealed\"":           func(j *contract.Job) { j.Privacy = fdskl.Masked },
		"bins is missing":                 func(j *contract.Job) { j.Parameters = wide.Parameters },
		"want a training over columns":    func(j *contract.Job) { j.Algorithm = "line" },
		"\"predict\" of \"glm\"":          func(j *contract.Job) { j.Task = contract.TaskPredict },
		"helper is \"smith\"":             func(j *contract.Job) { j.Parameters["helper"] = "smith" },
	} {
		j := *bins
		j.Parameters = maps.Clone(bins.Parameters)
		change(&j)
		if _, err := registry.Program().Training(&j); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %q", err, want)
		}
	}
	for want, change := range map[string]func(j *contract.Job){
		"bins are of jobs with algorithm": func(j *contract.Job) { j.Algorithm = contract.FDSKL },
		"keeper is \"insurer\"":           func(j *contract.Job) { j.Parties = []string{"bank", "telco"} },
	} {
		j, _ := jobOf(fdskl.Sealed, contract.TaskPredict, true)
		part := partOf(t, j)
		if _, err := part.Predict(j); err != nil {
			t.Error(err)
		}
		change(j)
		if _, err := part.Predict(j); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %q", err, want)
		}
		if _, err := fdskl.Of(part).Predict(j); err == nil {
			t.Error("a sealed model is scored with in the clear")
		}
	}
}
