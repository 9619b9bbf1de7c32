package node

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/internal/durable"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/forecast"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/clients"
	"github.com/hanse-project/hanse/internal/jobs/columns"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/shards"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// Names inside a job's folder.
const (
	TranscriptFile = transcript.File
	PayloadFolder  = transcript.PayloadFolder
)

// auditedFile is what a job's folder keeps of the latest audit that its owner ran, in an envelope.
const auditedFile = "audited"

// whatStays are the files of a job that is removed which stay. Without the contract and its end the same contract could
// be consented to and run a second time; without the status the policy's bounds over 30 days, and what a row's scores
// were counted at, would be forgotten; without the log of scored rows a model part that comes back from a copy would
// score them again; and the transcript is what an audit proves with that nothing else left.
var whatStays = []string{job.ContractFile, job.ContractCopy, job.EndingFile, job.RecordFile, TranscriptFile,
	auditedFile, columns.ScoredRowsFile}

// usesOf says what a file in a job's folder is.
var usesOf = map[string]string{
	job.ContractFile: "contract and its end", job.ContractCopy: "contract and its end",
	job.EndingFile:          "contract and its end",
	job.RecordFile:          "who consented, when, and what it counts for",
	TranscriptFile:          "transcript: what passed, by digests, chained and signed",
	auditedFile:             "what its audit concluded",
	columns.ScoredRowsFile:  "which rows were scored with this model",
	PayloadFolder:           "payloads of the transcript",
	jobs.ModelFile:          "this member's part of the model",
	jobs.AlignmentFile:      "the common rows",
	jobs.ScoresFile:         "scores",
	columns.KnownScoresFile: "scores that opened here with this model",
	job.ReportFile:          "report",
}

// otherUse is that of all other files.
const otherUse = "states and secrets of the job"

// whatShards is what stays of the sessions of shards.
const whatShards = "transcripts and contracts of shards"

// Removal is what becomes of a job's files when its owner removes it.
type Removal struct {
	Contract string `json:"contract"`
	Job      string `json:"job"`
	Goes     []Pile `json:"goes"`
	Stays    []Pile `json:"stays"`
}

// Pile is files of one use.
type Pile struct {
	What  string `json:"what"`
	Bytes int64  `json:"bytes"`
}

// planRemoval adds up the files of a job's folder.
func (s *jobState) planRemoval() (*Removal, error) {
	r := &Removal{Contract: s.Contract().Hash().String(), Job: s.Contract().Job.Name}
	entries, err := os.ReadDir(s.vault.Path("."))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		bytes, err := sizeOf(s.vault.Path(e.Name()))
		if err != nil {
			return nil, err
		}
		list, what := &r.Goes, usesOf[e.Name()]
		switch {
		case e.Name() == "index":
			continue
		case e.Name() == shards.Folder: // transcripts stay, and what they keep of payloads goes
			what, list = whatShards, &r.Stays
			for _, folder := range s.shardPayloads() {
				size, err := sizeOf(folder)
				if err != nil {
					return nil, err
				}
				bytes -= size
				r.Goes = addPile(r.Goes, usesOf[PayloadFolder], size)
			}
		case shards.IsRecord(e.Name()):
			what, list = whatShards, &r.Stays
		case slices.Contains(whatStays, e.Name()):
			list = &r.Stays
		case what == "":
			what = otherUse
		}
		*list = addPile(*list, what, bytes)
	}
	return r, nil
}

// addPile adds bytes to what is of one use.
func addPile(list []Pile, what string, bytes int64) []Pile {
	at := slices.IndexFunc(list, func(p Pile) bool { return p.What == what })
	if at < 0 {
		at, list = len(list), append(list, Pile{What: what})
	}
	list[at].Bytes += bytes
	return list
}

// shardPayloads lists the folders of payloads of the sessions of a job's shards.
func (s *jobState) shardPayloads() []string {
	list, _ := filepath.Glob(filepath.Join(s.vault.Path(shards.Folder), "*", "*", shards.PayloadFolder))
	return list
}

// clearRemoved deletes what does not stay of a job that is removed.
func (s *jobState) clearRemoved() error {
	keep := append(slices.Clone(whatStays), shards.Folder)
	for _, name := range s.vault.Names() {
		if shards.IsRecord(name) {
			keep = append(keep, name)
		}
	}
	errs := []error{s.vault.Clear(keep...)}
	for _, folder := range s.shardPayloads() {
		errs = append(errs, os.RemoveAll(folder))
	}
	return errors.Join(errs...)
}

// dropPayloads deletes the payloads of the job's transcripts, those of its shards too, and reports whether there were
// any. A crash leaves all of a transcript's or none: what is under another name is swept up.
func (s *jobState) dropPayloads() (there bool, err error) {
	old := s.vault.Path(PayloadFolder + durable.Suffix)
	for _, folder := range append(s.shardPayloads(), s.vault.Path(PayloadFolder)) {
		if _, err := os.Stat(folder); err != nil {
			if skipGone(err) == nil {
				continue
			}
			return there, err
		}
		there = true
		if err := errors.Join(os.RemoveAll(old), os.Rename(folder, old), durable.SyncDir(filepath.Dir(folder)),
			os.RemoveAll(old)); err != nil {
			return there, err
		}
	}
	return there, nil
}

// checkpoints is a digest of what the job's sessions have come to, by the files' names, sizes and times.
func (s *jobState) checkpoints() (keys.Hash, error) {
	var parts [][]byte
	for _, name := range s.vault.Names() {
		if !isCheckpoint(name) {
			continue
		}
		info, err := os.Stat(s.vault.Path(name))
		if err != nil {
			if skipGone(err) == nil {
				continue
			}
			return keys.Hash{}, err
		}
		parts = append(parts, []byte(name), binary.LittleEndian.AppendUint64(nil, uint64(info.Size())),
			binary.LittleEndian.AppendUint64(nil, uint64(info.ModTime().UnixNano())))
	}
	return keys.HashOf("hanse checkpoints v1", parts...), nil
}

// isCheckpoint tells the files that say how far a job has come: states that are computed again, what parties of a job
// over clients keep of their rounds, and parts of models.
func isCheckpoint(name string) bool {
	ofClients := []string{clients.ServerFile, clients.ClientFile, federated.ModelSlot}
	return columns.Rebuildable(name) || slices.Contains(ofClients, name) || strings.HasPrefix(name, job.Drafts)
}

// sizeOf adds up the bytes of a file, or of all files below a folder. What is deleted meanwhile counts nothing.
func sizeOf(path string) (total int64, err error) {
	err = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return skipGone(err)
		}
		info, err := e.Info()
		if err == nil {
			total += info.Size()
		}
		return skipGone(err)
	})
	return total, err
}

// skipGone is err, unless it says that a file is not there any more.
func skipGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// forecastFile is where a job's folder has what was expected of it when it came: what people consent to stays beside
// what came of it.
const forecastFile = "forecast"

// keepForecast stores what is expected of the job.
func keepForecast(v *vault.Vault, f *forecast.Forecast) error {
	if f == nil {
		return nil
	}
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return v.Save(forecastFile, data)
}

// loadForecast reads what keepForecast stored. One that is damaged is gone: nothing hangs on it.
func (s *jobState) loadForecast() error {
	data, err := s.vault.Load(forecastFile)
	if err == nil && data != nil {
		f := new(forecast.Forecast)
		if json.Unmarshal(data, f) == nil { // nor on one of another version of the program
			s.forecast = f
		}
	}
	if faults.IsDamage(err) {
		return s.vault.SetAside(forecastFile, err)
	}
	return err
}

// compare says in a report how far the forecast was off, where there was one and the whole of the job was seen.
func (s *jobState) compare(r *jobs.Report) {
	if s.forecast == nil || r.Missed != "" {
		return
	}
	came := forecast.Came{Seconds: r.Seconds, Sent: r.BytesOut, Received: r.BytesIn, Sessions: r.Sessions,
		Waited: r.Waited}
	if r.Aligned != nil {
		came.Common = r.Aligned.Common
	}
	r.Forecast = s.forecast.Against(came)
}
