// Package auditing finds and reads what an audit needs: transcripts, payloads, contracts and charters in nodes'
// folders, and parties' tables as their nodes read them. It says who audits, signs the report, and checks a report
// that another has signed.
package auditing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hanse-project/hanse/audit/evidence"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/alignment"
	"github.com/hanse-project/hanse/internal/charterfile"
	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/source"
	"github.com/hanse-project/hanse/internal/stream"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/usage"
	"github.com/hanse-project/hanse/internal/vertical"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// Request is what an audit is asked to read.
type Request struct {
	Given    []string // transcripts, folders of jobs, or jobs' names and first digits, which are looked for in Dirs
	Dirs     []string // nodes' folders
	Contract string   // the contract's file; empty: the one beside the first transcript
	Charter  string   // the charter's file; empty: the one that a node has kept
	Data     []string // tables and streams, each PARTY=FILE
	Readings Words    // how tables are read
	Rows     int      // attack at most so many; 0: the audit's own number
	Workers  int
	Told     io.Writer // is told which files count once; they were given twice

	Algorithms registry.List // that are known
}

// Read reads it all.
func Read(q Request) (*audit.Input, error) {
	in := &audit.Input{Rows: q.Rows, Workers: q.Workers, Algorithms: q.Algorithms}
	paths, err := transcriptPaths(q)
	if err != nil {
		return nil, err
	}
	paths, missing, err := withoutMissing(paths)
	if err != nil {
		return nil, err
	}
	paths, twins, err := withoutTwins(paths)
	if err != nil {
		return nil, err
	}
	for _, said := range append(missing, twins...) {
		fmt.Fprintln(q.Told, terminal.Printable(said))
	}
	for _, path := range paths {
		source, err := SourceOf(path)
		if err != nil {
			return nil, err
		}
		in.Sources = append(in.Sources, source)
	}
	contract := cmp.Or(q.Contract, filepath.Join(filepath.Dir(in.Sources[0].Path), job.ContractCopy))
	if in.Contract, err = ReadContract(contract); err != nil {
		return nil, err
	}
	in.Others = othersOf(in)
	in.Approvals = approvalsOf(in)
	if in.Shards, err = shardsOf(in); err != nil {
		return nil, err
	}
	if q.Charter != "" {
		if in.Charter, err = charterfile.ReadInForce(q.Charter); err != nil {
			return nil, err
		}
	} else if in.Charter, in.NoCharter, err = findCharter(in); err != nil {
		return nil, err
	}
	parties := in.Contract.Job.Parties
	how, err := newReadings(q.Readings, parties, q.Data)
	if err != nil {
		return nil, err
	}
	return in, ReadColumns(in, q.Data, func(i int, source string, said dataset.Options,
		part *joint.Model) (dataset.Options, error) {
		return how.of(parties[i], source, said, part)
	})
}

// How says how a party's table is read. said is what its location says; part is the part of the model that was trained
// on it, nil where that is not here or the job trained none.
type How func(party int, source string, said dataset.Options, part *joint.Model) (dataset.Options, error)

// transcriptPaths finds the transcripts that arguments mean: a file, a job's folder, or at every node's
// folder the job with that name or those first digits of its contract's hash. Of several of a name that is the one that
// was done last at the first of the nodes.
func transcriptPaths(q Request) ([]string, error) {
	var paths []string
	kept := sync.OnceValue(func() []node.JobInfo {
		all, _ := node.ReadJobs(q.Dirs[0]) // a folder that is no node's has no such jobs, and is told below
		return all
	})
	for _, arg := range q.Given {
		info, err := os.Stat(arg)
		switch {
		case err == nil && info.IsDir():
			paths = append(paths, filepath.Join(arg, node.TranscriptFile))
			continue
		case err == nil:
			paths = append(paths, arg)
			continue
		}
		for i, dir := range q.Dirs {
			if i == 0 {
				if j, said := node.NewestDone(kept(), arg); j != nil {
					terminal.Sentence(q.Told, "", said)
					arg = j.Contract
				}
			}
			folder, err := jobFolder(dir, arg)
			if err != nil {
				return nil, err
			}
			path := filepath.Join(folder, node.TranscriptFile)
			if i == 0 {
				if err := neverBegan(kept(), path); err != nil {
					return nil, err
				}
			}
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// neverBegan refuses a job of a node without a transcript, by its path, that has had no session or waits for one.
func neverBegan(all []node.JobInfo, path string) error {
	i := slices.IndexFunc(all, func(j node.JobInfo) bool { return j.Contract == filepath.Base(filepath.Dir(path)) })
	if _, err := os.Stat(path); i < 0 || !errors.Is(err, fs.ErrNotExist) || all[i].State == job.Done {
		return nil
	}
	j, why := &all[i], ", and no session of it has left a transcript yet"
	if j.State.Final() {
		why = ": it left no transcript, and there is nothing to audit"
	}
	return fmt.Errorf("job %q, contract %.8s, is %s%s", j.Name, j.Contract, j.State, why)
}

// jobFolder finds a job in a node's folder.
func jobFolder(dir, job string) (string, error) {
	folders, err := filepath.Glob(filepath.Join(dir, "jobs", "*"))
	if err != nil {
		return "", err
	}
	var found []string
	for _, f := range folders {
		if node.Means(job, jobName(f), filepath.Base(f)) {
			found = append(found, f)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fmt.Errorf("%s is no file, and the node's folder %s has no job of that name or hash; hanse jobs --dir %s "+
			"lists them, and --dir names the folder of another node", job, dir, wording.Quoted(dir))
	}
	return "", fmt.Errorf("%s has %d jobs called %s: give the first digits of the contract's hash, as hanse jobs --dir "+
		"%s shows them", dir, len(found), job, wording.Quoted(dir))
}

// jobName returns the name of the job in a folder, nothing when it cannot be read.
func jobName(folder string) string {
	c, err := ReadContract(filepath.Join(folder, job.ContractCopy))
	if err != nil {
		return node.UnreadName(folder)
	}
	return c.Job.Name
}

// SourceOf returns a transcript and the payloads beside it.
func SourceOf(path string) (audit.Source, error) {
	s := audit.Source{Path: path, Open: func() (io.ReadCloser, error) { return os.Open(path) }}
	folder := filepath.Join(filepath.Dir(path), node.PayloadFolder)
	if _, err := os.Stat(folder); err != nil {
		return s, nil
	}
	store, err := transcript.OpenStore(folder, 0)
	if err != nil {
		return s, err
	}
	s.Payload = store.Get
	return s, nil
}

// othersOf reads the contracts of the jobs beside those that are audited of which there is a transcript: those that
// can be read, and that all parties have signed.
func othersOf(in *audit.Input) []*contract.Contract {
	var others []*contract.Contract
	seen := map[keys.Hash]bool{in.Contract.Hash(): true}
	for i := range in.Sources {
		paths, _ := filepath.Glob(filepath.Join(filepath.Dir(in.Sources[i].Path), "..", "*", node.TranscriptFile))
		for _, path := range paths {
			c, err := ReadContract(filepath.Join(filepath.Dir(path), job.ContractCopy))
			if err != nil || seen[c.Hash()] {
				continue
			}
			seen[c.Hash()] = true
			if _, err := c.InForce(); err == nil {
				others = append(others, c)
			}
		}
	}
	return others
}

// ReadContract reads a contract.
func ReadContract(path string) (*contract.Contract, error) {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, fmt.Errorf("the contract %s is missing; a transcript means nothing without it: give it with "+
			"--contract FILE", path)
	}
	if err != nil {
		return nil, err
	}
	if other := job.OtherContract(path, text); other != nil {
		return nil, other
	}
	c, err := contract.ParseContract(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// ReadColumns reads the parties' tables, each PARTY=FILE, also with options in the location, as their nodes do.
func ReadColumns(in *audit.Input, data []string, how How) error {
	if len(in.Contract.Job.Servers) > 0 {
		return ReadStreams(in, data)
	}
	if in.Contract.Job.Task == contract.TaskAlign {
		in.IDs = make([]*evidence.IDs, len(in.Contract.Parties))
	}
	in.Columns = make([]*audit.Columns, len(in.Contract.Parties))
	parts := modelParts(in)
	for _, v := range data {
		name, location, ok := strings.Cut(v, "=")
		i := in.Contract.Job.Index(name)
		if !ok || i < 0 {
			return usage.Errorf("--data %s: want PARTY=FILE with one of the parties %s", v,
				strings.Join(in.Contract.Job.Parties, ", "))
		}
		path, said, err := dataset.ParseLocation(location)
		if err != nil {
			return err
		}
		var trained *joint.Model
		if in.Contract.Job.Task == contract.TaskTrain {
			trained = trainedPart(in, i)
		}
		options, err := how(i, path, said, trained)
		if err != nil {
			return ofTable(path, name, err)
		}
		switch in.Contract.Job.Task {
		case contract.TaskAlign:
			in.IDs[i], err = readIDs(in, i, path, options)
		case contract.TaskPredict:
			in.Columns[i], err = scoredColumns(in, parts[i], i, path, options)
		default:
			in.Columns[i], err = trainedColumns(in, i, path, options)
		}
		if err != nil {
			return ofTable(path, name, err)
		}
	}
	return nil
}

// ofTable says which table an error is about, and whose, where the error does not.
func ofTable(path, party string, err error) error {
	if strings.Contains(err.Error(), path) {
		return err
	}
	return fmt.Errorf("%s, the table of %s: %w; --data %[2]s=FILE names the table that %[2]s brought to the job", path,
		party, err)
}

// ReadStreams reads clients' streams, each PARTY=FILE, as their nodes do.
func ReadStreams(in *audit.Input, data []string) error {
	if len(data) > 0 {
		in.Streams = make([]*audit.Stream, len(in.Contract.Parties))
	}
	job := in.Contract.Job
	for _, v := range data {
		name, path, ok := strings.Cut(v, "=")
		i := job.Index(name)
		if !ok || i < 0 || job.Serves(i) {
			return usage.Errorf("--data %s: want CLIENT=FILE with one of the job's clients", v)
		}
		label, ok := job.Parameters["label"].(string)
		if !ok {
			return fmt.Errorf("the contract of job %q does not name the label's column, so that %s cannot be read", job.Name,
				path)
		}
		s, err := readStream(path, label, texts(job.Parameters["columns"]))
		if err != nil {
			return ofTable(path, name, err)
		}
		agreed, confirmed := consentedTable(in, i)
		if s.Confirmed = confirmed && agreed == s.Table; confirmed && !s.Confirmed {
			return fmt.Errorf("%s is not the stream that %s brought to the job: its SHA-256 begins with %s, and that party "+
				"consented to %s; "+
				"give that party's stream of the job", path, name, s.Table.Short(), agreed.Short())
		}
		in.Streams[i] = s
	}
	return nil
}

// readStream reads a client's stream to its end.
func readStream(path, label string, columns []string) (_ *audit.Stream, err error) {
	sum, err := fileDigest(path)
	if err != nil {
		return nil, err
	}
	rows, err := stream.Open(path, label, columns)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	s := new(audit.Stream)
	if err := s.Table.UnmarshalText([]byte(sum)); err != nil {
		return nil, err
	}
	for {
		row, err := rows.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return nil, err
		}
		s.Inputs, s.Labels = append(s.Inputs, row.Inputs), append(s.Labels, row.Label)
	}
}

// texts returns a list of texts in a job's parameters, nil when there is none.
func texts(v any) []string {
	list, _ := v.([]string)
	all, _ := v.([]any)
	for _, one := range all {
		if text, ok := one.(string); ok {
			list = append(list, text)
		}
	}
	return list
}

// modelParts finds the parts of a prediction's model that lie in the nodes' folders beside the
// transcripts, by party, and tells the audit one of them. A training has none.
func modelParts(in *audit.Input) []*joint.Model {
	parts := make([]*joint.Model, len(in.Contract.Parties))
	for _, s := range in.Sources {
		if in.Contract.Job.Task != contract.TaskPredict {
			break
		}
		part, err := node.ReadModel(in.Algorithms, filepath.Join(filepath.Dir(s.Path), "..", in.Contract.Job.Model))
		if err != nil {
			continue // a transcript that was sent without its node's folder
		}
		for i, p := range in.Contract.Parties {
			if m := part.Model(); p.ID == m.Owner {
				parts[i], in.Model = m, part
			}
		}
	}
	return parts
}

// trainedPart returns a party's part of the model that a training made, nil where its node's folder is not here.
func trainedPart(in *audit.Input, party int) *joint.Model {
	for _, s := range in.Sources {
		part, err := node.ReadModel(in.Algorithms, filepath.Dir(s.Path))
		if err != nil {
			continue
		}
		if m := part.Model(); m.Owner == in.Contract.Parties[party].ID {
			return m
		}
	}
	return nil
}

// trainedColumns reads the table that a party trained on.
func trainedColumns(in *audit.Input, party int, path string, options dataset.Options) (*audit.Columns, error) {
	goal, err := in.Algorithms.Goal(in.Contract.Job)
	if err != nil {
		return nil, err
	}
	active := in.Contract.Parties[party].Role == "active"
	if active {
		options.Label = goal.Label
	}
	table, confirmed, err := readTable(in, party, path, options, nil)
	if err != nil {
		return nil, err
	}
	proposer := in.Contract.Parties[party].Name == in.Contract.Job.Proposer
	prepared, err := vertical.PrepareTraining(table, goal.At(proposer), active)
	if err != nil {
		return nil, err
	}
	columns := columnsOf(prepared.Rows, table, confirmed)
	if prepared.Labels != nil {
		columns.Labels = prepared.Labels.Values
	}
	return columns, nil
}

// scoredColumns reads the table of which a party's rows were scored, normalised as its part of the model is.
func scoredColumns(in *audit.Input, part *joint.Model, party int, path string,
	options dataset.Options) (*audit.Columns, error) {
	name := in.Contract.Parties[party].Name
	if part == nil {
		if location, err := source.Parse(path); err == nil {
			path = location.String()
		}
		return nil, fmt.Errorf("%s cannot be used without the part of the model at %s, which says how its columns were "+
			"scaled: give its node's folder with --dir", path, name)
	}
	options = vertical.Written(options, part)
	if id := vertical.TrainingOptions(part.Reading).ID; options.ID == "" && id != "" {
		names, err := dataset.Header(path, options)
		if err != nil {
			return nil, err
		}
		if slices.Contains(names, id) {
			options.ID = id
		}
	}
	table, confirmed, err := readTable(in, party, path, options, part)
	if err != nil {
		return nil, err
	}
	rows, err := vertical.PrepareScoring(table, part)
	if err != nil {
		return nil, err
	}
	return columnsOf(rows, table, confirmed), nil
}

// columnsOf are the columns of a table that was read.
func columnsOf(rows *kernel.Matrix, table *dataset.Table, confirmed bool) *audit.Columns {
	c := evidence.NewColumns(rows)
	c.Table, c.Confirmed = table.Sum, confirmed
	return c
}

// readTable reads a party's table and checks what is known of the one that the party brought to the job: the number of
// its rows, and where the party's folder is there, the digest that it consented to. confirmed reports whether that was
// there: otherwise nobody says that this is the table. It is read for a part of a model, for a training where that is
// nil.
func readTable(in *audit.Input, party int, path string, options dataset.Options,
	part *joint.Model) (table *dataset.Table, confirmed bool, err error) {
	location, err := source.Parse(path)
	if err != nil {
		return nil, false, err
	}
	given := path
	path = location.String() // for messages
	common, err := commonRows(in)
	if err != nil {
		return nil, false, fmt.Errorf("%s cannot be used: %w", path, err)
	}
	const name = "audited"
	tables := jobs.NewTables(map[string]jobs.TableSpec{name: {Path: given, Options: options}})
	tables.AtUse = true
	if in.Charter != nil {
		tables.Identify = func() []string { return alignment.Columns(in.Charter.Identifiers) }
	}
	load := func(rows *alignment.Alignment) (*dataset.Table, error) {
		if part != nil {
			return tables.LoadFor(name, part, rows)
		}
		return tables.Load(name, options.Label, rows)
	}
	whole, err := tables.Source(name) // the rows alone: columns of another table would be a fault of theirs
	if err != nil {
		return nil, false, err
	}
	facts := in.Contract.Parties[party]
	if rows := len(whole.RowIDs()); common == nil && rows != facts.Rows {
		return nil, false, fmt.Errorf("%s is not the table that %s brought to the job: it has %d rows, "+
			"and the contract says %d; "+
			"give that party's table of the job",
			path, facts.Name, rows, facts.Rows)
	}
	agreed, confirmed := consentedTable(in, party)
	if confirmed && whole.Sum() != agreed {
		return nil, false, fmt.Errorf("%s is not the table that %s brought to the job: its digest begins with %s, "+
			"and that party consented to %s; give that party's table of the job",
			path, facts.Name, whole.Sum().Short(), agreed.Short())
	}
	if table, err = load(nil); err != nil {
		return nil, false, err
	}
	if common != nil {
		if table, err = load(common); err != nil {
			return nil, false, fmt.Errorf("these are not the rows that %s brought to the job: %w", facts.Name, err)
		}
		if table.Rows() != facts.Rows {
			return nil, false, fmt.Errorf("alignment %q has %d rows of %s, and the contract of the job says %d: it is not "+
				"the one that the job took; give the folder of another node with --dir", common.Name, table.Rows(), path,
				facts.Rows)
		}
	}
	return table, confirmed, nil
}

// commonRows finds the alignment whose rows a job takes in the folder of one of the nodes whose transcripts are there,
// nil where the job takes whole tables. It is the same at all parties.
func commonRows(in *audit.Input) (*alignment.Alignment, error) {
	job := in.Contract.Job
	if job.Rows == "" {
		return nil, nil
	}
	for _, s := range in.Sources {
		a, err := node.ReadAlignment(filepath.Join(filepath.Dir(s.Path), "..", job.Alignment))
		if err == nil {
			return a, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("the job took the rows of alignment %q, contract %.8s, which is in no folder of a node beside "+
		"the transcripts: give the folder of a node that has it with --dir", job.Rows, job.Alignment)
}

// consentedTable returns the SHA-256 of the table that a party consented to, where the folder of its job is beside its
// transcript, with the record of consent that the transcript was begun under.
func consentedTable(in *audit.Input, party int) (sum keys.Hash, ok bool) {
	for _, s := range in.Sources {
		h, err := readHeader(s.Path)
		if err != nil || headerParty(in.Contract, h) != party {
			continue
		}
		folder := filepath.Dir(s.Path)
		r, err := job.ReadRecord(folder)
		bound := err == nil && r.Consent != nil && r.Consent.Digest(h.Contract) == h.Consent
		if bound && !r.Data.IsZero() {
			return r.Data, true
		}
	}
	return sum, false
}

// headerParty returns whose transcript of a contract's job has this header, -1 when it is of another job or of nobody
// in it: the number that a header gives its party means nothing in another contract.
func headerParty(c *contract.Contract, h transcript.Header) int {
	if h.Contract != c.Hash() || h.Self >= len(c.Parties) || c.Parties[h.Self].ID != h.Party {
		return -1
	}
	return h.Self
}

// readHeader returns the header of a transcript.
func readHeader(path string) (h transcript.Header, err error) {
	f, err := os.Open(path)
	if err != nil {
		return h, err
	}
	defer f.Close()
	r, err := transcript.NewReader(f)
	if err != nil {
		return h, err
	}
	return r.Header(), nil
}

// withoutMissing leaves out transcripts that are gone from their jobs' folders, with a sentence for each. It fails when
// none is left.
func withoutMissing(paths []string) (present, said []string, err error) {
	for _, path := range paths {
		_, err := os.Stat(path)
		switch {
		case err == nil:
			present = append(present, path)
		case errors.Is(err, fs.ErrNotExist):
			said = append(said, path+" is not there: what its party saw is not read")
		default:
			return nil, nil, err
		}
	}
	if len(present) == 0 {
		return nil, nil, fmt.Errorf("no transcript is there to audit: %s is missing; give the folder of a node that has one "+
			"with --dir", paths[0])
	}
	return present, said, nil
}

// withoutTwins leaves a transcript out that is the same as one before it, byte for byte, and returns a sentence on
// each.
func withoutTwins(paths []string) (different, said []string, err error) {
	if len(paths) < 2 {
		return paths, nil, nil
	}
	first := make(map[string]string) // path by digest
	for _, path := range paths {
		sum, err := fileDigest(path)
		if err != nil {
			return nil, nil, err
		}
		if twin := first[sum]; twin != "" {
			said = append(said, fmt.Sprintf("%s was given twice, the first time as %s: it counts once", path, twin))
			continue
		}
		first[sum] = path
		different = append(different, path)
	}
	return different, said, nil
}

// fileDigest returns the SHA-256 of a file, in hexadecimal.
func fileDigest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err // which names the file
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// consented is who agreed to a job at a node whose own folder was read.
type consented struct {
	party int
	by    *job.Consent
	bound bool // the party's transcript was begun under that consent
}

// consentsOf lists the records of consent beside the transcripts. Others' transcripts come without.
func consentsOf(in *audit.Input) []consented {
	var all []consented
	for _, s := range in.Sources {
		folder := filepath.Dir(s.Path)
		if filepath.Base(folder) != in.Contract.Hash().String() {
			continue
		}
		header, err := readHeader(s.Path)
		if err != nil {
			continue // the audit says so
		}
		r, err := job.ReadRecord(folder)
		if party := headerParty(in.Contract, header); err == nil && r.Consent != nil && party >= 0 {
			all = append(all, consented{party, r.Consent, r.Consent.Digest(header.Contract) == header.Consent})
		}
	}
	return all
}

// approvalsOf reads the approvals that records of consent bear.
func approvalsOf(in *audit.Input) []evidence.Approvals {
	var all []evidence.Approvals
	for _, c := range consentsOf(in) {
		if len(c.by.Approvals) == 0 {
			continue
		}
		found := evidence.Approvals{Party: c.party, Bound: c.bound}
		read, err := consent.Approvals(nil, c.by.Approvals, in.Contract.Hash(), in.Contract.Parties[c.party].ID)
		if err != nil {
			found.Fault = err.Error()
		}
		for _, a := range read {
			found.By = append(found.By, fmt.Sprintf("%s (key %s, %s)", a.Name, a.ID, wording.Time(a.At)))
		}
		all = append(all, found)
	}
	return all
}

// WriteConsents says who agreed to the job at each node whose own folder was read.
func WriteConsents(w io.Writer, in *audit.Input) {
	for _, c := range consentsOf(in) {
		said := "this transcript was begun under that consent"
		if !c.bound {
			said = "this transcript was not begun under that consent"
		}
		fmt.Fprintln(w)
		terminal.Sentence(w, "", fmt.Sprintf("%s: consented to by %s; %s", in.Contract.Parties[c.party].Name, c.by, said))
	}
	for _, a := range in.Approvals {
		for _, by := range a.By {
			terminal.Sentence(w, "", fmt.Sprintf("%s: approved by %s", in.Contract.Parties[a.Party].Name, by))
		}
	}
}
