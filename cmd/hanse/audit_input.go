package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/stream"
	"github.com/hanse-project/hanse/internal/vertical"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// readAudit turns the command line into what an audit reads.
func readAudit(c *cli.Context) (*audit.Input, error) {
	if !c.Args().Present() {
		return nil, usagef("give a job, or transcripts: hanse audit JOB|TRANSCRIPT...; see hanse audit --help")
	}
	in := &audit.Input{Rows: c.Int("rows"), Workers: c.Int("workers")}
	paths, err := transcriptPaths(c.StringSlice("dir"), c.Args().Slice())
	if err != nil {
		return nil, err
	}
	paths, twins, err := withoutTwins(paths)
	if err != nil {
		return nil, err
	}
	for _, said := range twins {
		fmt.Fprintln(c.App.ErrWriter, printable(said))
	}
	for _, path := range paths {
		source, err := sourceOf(path)
		if err != nil {
			return nil, err
		}
		in.Sources = append(in.Sources, source)
	}
	contract := firstOf(c.String("contract"), filepath.Join(filepath.Dir(in.Sources[0].Path), node.ContractFile))
	if in.Contract, err = readContract(contract); err != nil {
		return nil, err
	}
	if path := c.String("charter"); path != "" {
		if in.Charter, err = readCompleteCharter(path); err != nil {
			return nil, err
		}
	} else if in.Charter, in.NoCharter, err = findCharter(in); err != nil {
		return nil, err
	}
	parties, data := in.Contract.Job.Parties, c.StringSlice("data")
	how, err := newReadings(c, parties, data)
	if err != nil {
		return nil, err
	}
	return in, readColumns(in, data, func(i int, path string) (dataset.Options, error) {
		return how.of(parties[i], path)
	})
}

// transcriptPaths finds the transcripts that arguments mean: a file, a job's folder, or at every node's
// folder in dirs the job with that name or those first digits of its contract's hash.
func transcriptPaths(dirs, args []string) ([]string, error) {
	var paths []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		switch {
		case err == nil && info.IsDir():
			paths = append(paths, filepath.Join(arg, node.TranscriptFile))
			continue
		case err == nil:
			paths = append(paths, arg)
			continue
		}
		for _, dir := range dirs {
			folder, err := jobFolder(dir, arg)
			if err != nil {
				return nil, err
			}
			paths = append(paths, filepath.Join(folder, node.TranscriptFile))
		}
	}
	return paths, nil
}

// jobFolder finds a job in a node's folder.
func jobFolder(dir, job string) (string, error) {
	folders, err := filepath.Glob(filepath.Join(dir, "jobs", "*"))
	if err != nil {
		return "", err
	}
	var found []string
	for _, f := range folders {
		if strings.HasPrefix(filepath.Base(f), job) || jobName(f) == job {
			found = append(found, f)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fmt.Errorf("%s is no file, and the node's folder %s has no job of that name or hash; give the node's folder with --dir", job, dir)
	}
	return "", fmt.Errorf("%s has %d jobs called %s: give the first digits of the contract's hash, as hanse jobs shows them", dir, len(found), job)
}

// jobName returns the name of the job in a folder, nothing when it cannot be read.
func jobName(folder string) string {
	c, err := readContract(filepath.Join(folder, node.ContractFile))
	if err != nil {
		return ""
	}
	return c.Job.Name
}

// sourceOf returns a transcript and the payloads beside it.
func sourceOf(path string) (audit.Source, error) {
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

// readContract reads a contract.
func readContract(path string) (*protocol.Contract, error) {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, fmt.Errorf("the contract %s is missing; a transcript means nothing without it: give it with --contract FILE", path)
	}
	if err != nil {
		return nil, err
	}
	c, err := protocol.ParseContract(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// readColumns reads the parties' tables, each PARTY=FILE, as their nodes do; how says how a party's file is read.
func readColumns(in *audit.Input, data []string, how func(party int, path string) (dataset.Options, error)) error {
	if len(in.Contract.Job.Servers) > 0 {
		return readStreams(in, data)
	}
	in.Columns = make([]*audit.Columns, len(in.Contract.Parties))
	parts := modelParts(in)
	for _, v := range data {
		name, path, ok := strings.Cut(v, "=")
		i := in.Contract.Job.Index(name)
		if !ok || i < 0 {
			return usagef("--data %s: want PARTY=FILE with one of the parties %s", v, strings.Join(in.Contract.Job.Parties, ", "))
		}
		options, err := how(i, path)
		if err != nil {
			return err
		}
		if in.Contract.Job.Task == protocol.TaskPredict {
			in.Columns[i], err = scoredColumns(in, parts[i], i, path, options)
		} else {
			in.Columns[i], err = trainedColumns(in, i, path, options)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readStreams reads clients' streams, each PARTY=FILE, as their nodes do.
func readStreams(in *audit.Input, data []string) error {
	if len(data) > 0 {
		in.Streams = make([]*audit.Stream, len(in.Contract.Parties))
	}
	job := in.Contract.Job
	for _, v := range data {
		name, path, ok := strings.Cut(v, "=")
		i := job.Index(name)
		if !ok || i < 0 || job.Serves(i) {
			return usagef("--data %s: want CLIENT=FILE with one of the job's clients", v)
		}
		label, ok := job.Parameters["label"].(string)
		if !ok {
			return fmt.Errorf("the contract of job %q does not name the label's column, so that %s cannot be read", job.Name, path)
		}
		s, err := readStream(path, label, texts(job.Parameters["columns"]))
		if err != nil {
			return err
		}
		agreed, confirmed := consentedTable(in, i)
		if s.Confirmed = confirmed && agreed == s.Table; confirmed && !s.Confirmed {
			return fmt.Errorf("%s is not the stream that %s brought to the job: its SHA-256 begins with %s, and that party consented to %s; "+
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
func modelParts(in *audit.Input) []*fdskl.Model {
	parts := make([]*fdskl.Model, len(in.Contract.Parties))
	for _, s := range in.Sources {
		if in.Contract.Job.Task != protocol.TaskPredict {
			break
		}
		m, err := node.ReadModel(filepath.Join(filepath.Dir(s.Path), "..", in.Contract.Job.Model))
		if err != nil {
			continue // a transcript that was sent without its node's folder
		}
		for i, p := range in.Contract.Parties {
			if p.ID == m.Owner {
				parts[i], in.Model = m, m
			}
		}
	}
	return parts
}

// trainedColumns reads the table that a party trained on.
func trainedColumns(in *audit.Input, party int, path string, options dataset.Options) (*audit.Columns, error) {
	params, err := audit.TrainingParams(in.Contract)
	if err != nil {
		return nil, err
	}
	active := in.Contract.Parties[party].Role == "active"
	if active {
		options.Label = params.Label
	}
	table, confirmed, err := readTable(in, party, path, options)
	if err != nil {
		return nil, err
	}
	prepared, err := vertical.PrepareTraining(table, params, active)
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
func scoredColumns(in *audit.Input, part *fdskl.Model, party int, path string,
	options dataset.Options) (*audit.Columns, error) {
	name := in.Contract.Parties[party].Name
	if part == nil {
		return nil, fmt.Errorf("%s cannot be used without the part of the model at %s, which says how its columns were scaled: give its node's folder with --dir", path, name)
	}
	table, confirmed, err := readTable(in, party, path, vertical.ScoringOptions(options, part))
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
	c := audit.NewColumns(rows)
	c.Table, c.Confirmed = table.Sum, confirmed
	return c
}

// readTable reads a party's table and checks what is known of the one that the party brought to the job: the number of
// its rows, and where the party's folder is there, the SHA-256 that it consented to. confirmed reports whether that was
// there: otherwise nobody says that this is the table.
func readTable(in *audit.Input, party int, path string,
	options dataset.Options) (table *dataset.Table, confirmed bool, err error) {
	if table, err = dataset.Read(path, options); err != nil {
		return nil, false, err
	}
	facts := in.Contract.Parties[party]
	if table.Rows() != facts.Rows {
		return nil, false, fmt.Errorf("%s is not the table that %s brought to the job: it has %d rows, "+
			"and the contract says %d; "+
			"give that party's table of the job",
			path, facts.Name, table.Rows(), facts.Rows)
	}
	agreed, confirmed := consentedTable(in, party)
	if confirmed && table.Sum != agreed {
		return nil, false, fmt.Errorf("%s is not the table that %s brought to the job: its SHA-256 begins with %s, "+
			"and that party consented to %s; give that party's table of the job",
			path, facts.Name, table.Sum.Short(), agreed.Short())
	}
	return table, confirmed, nil
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
		if by, bound, err := node.ReadConsent(folder, h); err != nil || by == nil || !bound {
			continue
		}
		if sum, err := node.ConsentedTable(folder); err == nil && !sum.IsZero() {
			return sum, true
		}
	}
	return sum, false
}

// headerParty returns whose transcript of a contract's job has this header, -1 when it is of another job or of nobody
// in it: the number that a header gives its party means nothing in another contract.
func headerParty(c *protocol.Contract, h transcript.Header) int {
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

// withoutTwins leaves a transcript out that is the same as one before it, byte for byte, and returns a sentence on
// each.
func withoutTwins(paths []string) (different, said []string, err error) {
	if len(paths) < 2 {
		return paths, nil, nil
	}
	first := make(map[string]string) // path by digest
	for _, path := range paths {
		sum, err := fileDigest(path)
		if errors.Is(err, fs.ErrNotExist) {
			different = append(different, path) // the audit says what is missing
			continue
		}
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
