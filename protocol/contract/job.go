package contract

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
)

// jobFormat is the first field of every job.
const jobFormat = "hanse-job-v1"

// The tasks of a job.
const (
	TaskTrain   = "train"
	TaskPredict = "predict"
	TaskAlign   = "align" // which rows are common to all; its name is the alignment's
)

// What transcripts keep of every frame besides its description.
const (
	RecordDigests = "digests" // the payload's SHA-256
	RecordFull    = "full"    // the payload itself too
)

// What protects the sums of a job with privacy "masked".
const (
	AggregateMasked = "masked" // one-time pairwise masks
	AggregateHE     = "he"     // homomorphic encryption under a key that nobody holds alone
)

// maxRequests bounds the single rows that one predict job answers.
const maxRequests = 1 << 24

// maxScoresPerRow bounds how often a job lets a row be scored.
const maxScoresPerRow = 1 << 16

// maxRepeat bounds for how many jobs a consent holds: one a day for a year.
const maxRepeat = 366

// TimesPerRow returns how often a sealed prediction lets a row be scored with its model, over all jobs.
func (j *Job) TimesPerRow() int { return max(1, j.ScoresPerRow) }

// defaultPrivacy is the mode of a job that says nothing of it, the strongest that its kind has: shares of three for
// columns of the same rows, sums under masks for clients' data.
func (j *Job) defaultPrivacy() string {
	if len(j.Servers) > 0 {
		return keys.PrivacyMasked
	}
	return keys.PrivacySealed
}

// Job is one computation that a member proposes to others. Its text is TOML; a field it does not
// know is an error. What an algorithm wants to know is in Parameters, which the algorithm checks.
//
// Evolution: fields are added with a zero value that keeps the old meaning; a changed meaning is
// a new format.
type Job struct {
	Format    string   `toml:"format"`
	Name      string   `toml:"name"`      // as a member's name: a-z, 0-9, '-'
	Algorithm string   `toml:"algorithm"` // "fdskl", "pofmkl", "gfml", "ofmsft"; of an alignment "psi"
	Task      string   `toml:"task"`      // "train", "predict" or "align"
	Parties   []string `toml:"parties"`   // member names; their order is the order of sums
	// jobs over clients: the parties that aggregate; the others are their clients, see ClientsOf
	Servers []string `toml:"servers,omitempty"`
	// "published", "masked" or "sealed"; see defaultPrivacy
	Privacy  string `toml:"privacy"`
	Topology string `toml:"topology,omitempty"` // "tree" (default), "star" or "ring"
	// what protects the sums of a masked job: "masked" (one-time masks, default) or "he" (homomorphic encryption)
	Aggregation string `toml:"aggregation,omitempty"`
	// jobs with clients that come and go: what part of those who hold shares of a secret must answer to open it, more than
	// half and as much as cohort.Spec asks for; 0: chosen
	Threshold float64 `toml:"threshold,omitzero"`
	// the fewest addends of a sum that is opened; 0: the charter's
	MinContributors int `toml:"min_contributors,omitzero"`
	// the name each party gave to its data; default "train"
	Table string `toml:"table,omitempty"`
	// over columns: the name of the alignment whose rows of the table are used, in its order; none: the whole table, which
	// must have the same row ids everywhere. Of a job that is yet to be proposed it may be the first digits of the
	// alignment's contract
	Rows string `toml:"rows,omitempty"`
	// hash of the contract that made the alignment; filled in by the proposer's node
	Alignment string `toml:"alignment,omitempty"`
	Model     string `toml:"model,omitempty"`   // predict: hash of the contract that trained it
	OpenTo    string `toml:"open_to,omitempty"` // predict: the party that learns the scores
	// over columns: how many shards the rows are cut into, each of which workers of all parties have a session of; 0: none
	Shards int `toml:"shards,omitzero"`
	// predict: answer up to so many single rows while it lasts; 0: all rows, once
	Requests int `toml:"requests,omitzero"`
	// predict, sealed: how often one row may be scored with the model, over all jobs; 0: once
	ScoresPerRow int `toml:"scores_per_row,omitzero"`
	// predict: a person's consent to the job holds for so many jobs with the same model that differ in their rows alone;
	// 0: for this one
	Repeat int `toml:"repeat,omitzero"`
	// "digests" (default) or "full": transcripts with all payloads, so that attacks can be tried on them
	Record string `toml:"record,omitempty"`
	// when it ends by itself unless all have consented: a time in UTC, such as 2026-12-24T18:00:00Z, or a duration from
	// now, such as 72h; default 168h
	Expires string `toml:"expires,omitempty"`
	// digest of the charter, filled in by the proposer's node
	Charter    string         `toml:"charter,omitempty"`
	Proposer   string         `toml:"proposer,omitempty"`   // filled in by the proposer's node
	Nonce      string         `toml:"nonce,omitempty"`      // makes two runs of one job two contracts; filled in
	Purpose    *Purpose       `toml:"purpose,omitempty"`    // what it is for, in people's words; nil: it says nothing
	Parameters map[string]any `toml:"parameters,omitempty"` // the algorithm's own
}

// ParseJob reads a job and checks everything that can be checked without a charter.
func ParseJob(text []byte) (*Job, error) {
	if err := keys.CheckKind(text, jobFormat); err != nil {
		return nil, fmt.Errorf("job: %w", err)
	}
	var j Job
	if err := keys.DecodeStrict("job", text, &j); err != nil {
		return nil, err
	}
	if j.Topology == "" && len(j.Servers) > 0 {
		j.Topology = Star.String()
	}
	if j.Topology == "" {
		j.Topology = Tree.String()
	}
	if j.Table == "" {
		j.Table = "train"
	}
	if j.Privacy == "" {
		j.Privacy = j.defaultPrivacy()
	}
	if err := j.validate(); err != nil {
		return nil, fmt.Errorf("job %q: %w", wording.Clip(j.Name), err)
	}
	return &j, nil
}

// validate checks the fields one by one; each message states the rule and the value received.
func (j *Job) validate() error {
	if j.Format == "" {
		return fmt.Errorf("it does not say that it is one: want format = %q as its first line", jobFormat)
	}
	if j.Format != jobFormat {
		return fmt.Errorf("format is %q, want %q", wording.Clip(j.Format), jobFormat)
	}
	// Checks the fields that stand in file names, logs and summaries.
	for _, f := range []struct{ field, value string }{
		{"name", j.Name}, {"algorithm", j.Algorithm}, {"table", j.Table},
	} {
		if !wording.IsWord(f.value) {
			return fmt.Errorf("%s is %q, want 1 to %d characters of a-z, 0-9, \"-\" and \"_\", the first a letter",
				f.field, wording.Clip(f.value), wording.MaxWord)
		}
	}
	for _, f := range []struct{ field, value string }{
		{"model", j.Model}, {"charter", j.Charter}, {"alignment", j.Alignment},
	} {
		var h keys.Hash
		if err := h.UnmarshalText([]byte(f.value)); f.value != "" && err != nil {
			return fmt.Errorf("%s: %w", f.field, err)
		}
		if f.value != "" && f.value != h.String() { // one name for one model
			return fmt.Errorf("%s is %q, want it in small letters", f.field, wording.Clip(f.value))
		}
	}
	if len(j.Name) >= 8 && strings.Trim(j.Name, "0123456789abcdef") == "" {
		return fmt.Errorf("name is %q, which reads as the digits of a contract: want another", wording.Clip(j.Name))
	}
	if err := checkTexts(j.Parameters); err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	if err := j.Purpose.check(); err != nil {
		return fmt.Errorf("purpose: %w", err)
	}
	if _, err := hex.DecodeString(j.Nonce); err != nil || len(j.Nonce) > wording.MaxWord {
		return fmt.Errorf("nonce is %q, want at most %d hexadecimal digits", wording.Clip(j.Nonce), wording.MaxWord)
	}
	if err := j.checkTask(); err != nil {
		return err
	}
	if !slices.Contains(keys.Privacies(), j.Privacy) {
		return fmt.Errorf("privacy is %q, want one of %s%s", wording.Clip(j.Privacy), strings.Join(keys.Privacies(), ", "),
			wording.DidYouMean(j.Privacy, keys.Privacies()))
	}
	if j.Requests < 0 || j.Requests > maxRequests || j.Requests > 0 && j.Task != TaskPredict {
		return fmt.Errorf("requests is %d, want 1 to %d in a predict job, 0 in others", j.Requests, maxRequests)
	}
	if n := j.ScoresPerRow; n < 0 || n > maxScoresPerRow || n > 0 && (j.Task != TaskPredict ||
		j.Privacy != keys.PrivacySealed) {
		return fmt.Errorf("scores_per_row is %d, want 1 to %d in a predict job with privacy %q, 0 in others", n,
			maxScoresPerRow, keys.PrivacySealed)
	}
	if n := j.Repeat; n < 0 || n > maxRepeat || n > 0 && (j.Task != TaskPredict || j.Requests > 0) {
		return fmt.Errorf("repeat is %d, want 1 to %d in a predict job that scores all rows of a table, 0 in others", n,
			maxRepeat)
	}
	switch n := j.Shards; {
	case n < 0 || n > MaxShards:
		return fmt.Errorf("shards is %d, want 1 to %d", n, MaxShards)
	case n > 0 && (j.Task == TaskAlign || j.Requests > 0 || len(j.Servers) > 0):
		return fmt.Errorf("shards is %d: only a training or prediction over columns, of all rows at once, is worked on in "+
			"shards; leave the line out", n)
	}
	if _, err := ParseTopology(j.Topology); err != nil {
		return err
	}
	if j.Record != "" && j.Record != RecordDigests && j.Record != RecordFull {
		return fmt.Errorf("record is %q, want %q or %q", wording.Clip(j.Record), RecordDigests, RecordFull)
	}
	if _, _, err := parseExpires(j.Expires); err != nil {
		return err
	}
	// Checks the parties' number and names.
	if len(j.Parties) < 2 || len(j.Parties) > keys.MaxMembers {
		return fmt.Errorf("parties names %d, want 2 to %d", len(j.Parties), keys.MaxMembers)
	}
	seen := make(map[string]bool, len(j.Parties))
	for i, p := range j.Parties {
		if err := keys.CheckName(p); err != nil {
			return fmt.Errorf("party %d: %w", i+1, err)
		}
		if seen[p] {
			return fmt.Errorf("parties names %q twice", p)
		}
		seen[p] = true
	}
	if j.Proposer != "" && !seen[j.Proposer] {
		return fmt.Errorf("proposer is %q, want one of its parties", wording.Clip(j.Proposer))
	}
	if err := j.checkServers(); err != nil {
		return err
	}
	if err := j.checkAggregation(); err != nil {
		return err
	}
	switch {
	case j.Task != TaskPredict && (j.Model != "" || j.OpenTo != ""):
		return fmt.Errorf("a job with task %q has no model yet and opens no scores: model and open_to must not be set",
			j.Task)
	case j.Task == TaskPredict && (j.Model == "" || j.OpenTo == ""):
		return fmt.Errorf("a predict job names its model and who the scores open to: model and open_to must be set")
	case j.Task == TaskPredict && !slices.Contains(j.Parties, j.OpenTo):
		return fmt.Errorf("open_to is %q, want one of its parties%s", wording.Clip(j.OpenTo),
			wording.DidYouMean(j.OpenTo, j.Parties))
	}
	return nil
}

// checkTask checks the task, and what goes with it.
func (j *Job) checkTask() error {
	switch {
	case !slices.Contains(Tasks(), j.Task):
		return fmt.Errorf("task is %q, want %s%s", wording.Clip(j.Task), strings.Join(Tasks(), ", "),
			wording.DidYouMean(j.Task, Tasks()))
	case (j.Task == TaskAlign) != (j.Algorithm == PSI):
		return fmt.Errorf("task is %q and algorithm %q: task %q has algorithm %q, and no other has", j.Task, j.Algorithm,
			TaskAlign, PSI)
	case j.Task == TaskAlign && (len(j.Servers) > 0 || j.Aggregation != "" || j.Threshold != 0 || j.MinContributors != 0):
		return fmt.Errorf("an alignment has no sums: servers, aggregation, threshold and min_contributors must not be set")
	case j.Task == TaskAlign && j.Privacy != keys.PrivacySealed:
		return fmt.Errorf("privacy is %q: an alignment is always %q", wording.Clip(j.Privacy), keys.PrivacySealed)
	case (j.Task == TaskAlign || len(j.Servers) > 0) && (j.Rows != "" || j.Alignment != ""):
		return fmt.Errorf("rows is %q: only a job over columns takes its rows from an alignment", wording.Clip(j.Rows))
	case j.Rows != "" && !wording.IsWord(j.Rows) && (j.Alignment != "" || !isDigits(j.Rows)):
		return fmt.Errorf("rows is %q, want the name of an alignment, or the first digits of its contract's hash",
			wording.Clip(j.Rows))
	case j.Rows == "" && j.Alignment != "":
		return fmt.Errorf("alignment is %q, and rows names none", j.Alignment)
	}
	return nil
}

// isDigits reports whether s can be the beginning of a hash.
func isDigits(s string) bool {
	return len(s) <= 2*len(keys.Hash{}) && strings.Trim(s, "0123456789abcdef") == ""
}

// Times until a job expires that not all have consented to.
const (
	DefaultExpiry = 7 * 24 * time.Hour
	maxExpiry     = 366 * 24 * time.Hour
	minExpiry     = time.Minute
)

// parseExpires reads a time or a duration; of nothing both are zero.
func parseExpires(text string) (at time.Time, in time.Duration, err error) {
	if text == "" {
		return at, 0, nil
	}
	if at, err = time.Parse(time.RFC3339, text); err == nil && at.UTC().Format(time.RFC3339) == text {
		return at, 0, nil
	}
	if in, err = time.ParseDuration(text); err == nil && minExpiry <= in && in <= maxExpiry {
		return time.Time{}, in, nil
	}
	return time.Time{}, 0, fmt.Errorf("expires is %q, want a time in UTC such as 2026-12-24T18:00:00Z, "+
		"or a duration from %s to %s such as 72h", wording.Clip(text), minExpiry, maxExpiry)
}

// Expiry returns when the job expires, the zero time when its text names none.
func (j *Job) Expiry() time.Time {
	at, _, _ := parseExpires(j.Expires) // checked when it was read
	return at
}

// CheckExpiry refuses a job without an expiry, or with one that is further away than any may be.
func (j *Job) CheckExpiry(now time.Time) error {
	at := j.Expiry()
	if at.IsZero() {
		return fmt.Errorf("job %q: expires is %q, want the time when the proposal ends by itself", j.Name, j.Expires)
	}
	return j.checkExpiry(at, now.Add(maxSkew))
}

// maxSkew is how far clocks may differ before a proposal is refused for its expiry.
const maxSkew = 62 * 24 * time.Hour

// checkExpiry is CheckExpiry for a time.
func (j *Job) checkExpiry(at, now time.Time) error {
	if at.After(now.Add(maxExpiry)) {
		return fmt.Errorf("job %q: expires is %s, want a time in the next %d days", j.Name, at.UTC().Format(time.RFC3339),
			maxExpiry/(24*time.Hour))
	}
	return nil
}

// SetExpiry turns what the job's text says of its expiry, a duration or nothing, into a time.
func (j *Job) SetExpiry(now time.Time) error {
	at, in, err := parseExpires(j.Expires)
	if err != nil {
		return err
	}
	if at.IsZero() {
		at = now.Add(cmp.Or(in, DefaultExpiry))
	}
	if !at.After(now) {
		return fmt.Errorf("job %q: expires is %s, want a time to come", j.Name, at.UTC().Format(time.RFC3339))
	}
	if err := j.checkExpiry(at, now); err != nil {
		return err
	}
	j.Expires = at.UTC().Truncate(time.Second).Format(time.RFC3339)
	return nil
}

// checkAggregation checks how sums are protected and when they open.
func (j *Job) checkAggregation() error {
	switch {
	case j.Aggregation != "" && j.Aggregation != AggregateMasked && j.Aggregation != AggregateHE:
		return fmt.Errorf("aggregation is %q, want %q or %q", wording.Clip(j.Aggregation), AggregateMasked, AggregateHE)
	case j.Aggregation == AggregateHE && j.Privacy == keys.PrivacyPublished:
		return fmt.Errorf("aggregation is %q and privacy %q: sums in the clear have no protection to choose",
			j.Aggregation, j.Privacy)
	case j.Threshold != 0 && !(0.5 < j.Threshold && j.Threshold <= 1):
		return fmt.Errorf("threshold is %v, want more than 0.5 and at most 1, or 0 to have it chosen", j.Threshold)
	case j.MinContributors < 0 || j.MinContributors > len(j.Parties):
		return fmt.Errorf("min_contributors is %d, want 0 to %d, the number of parties", j.MinContributors, len(j.Parties))
	}
	return nil
}

// Contributors returns the fewest addends of a sum that the job opens under a charter's rules.
func (j *Job) Contributors(r keys.Rules) int { return max(j.MinContributors, r.MinContributors) }

// maxParameter is the longest text among a job's parameters, in bytes.
const maxParameter = 1000

// checkTexts checks that all texts in a parameter's value print, its keys too: they are shown to people.
func checkTexts(v any) error {
	switch v := v.(type) {
	case string:
		if len(v) > maxParameter || strings.ContainsFunc(v, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return fmt.Errorf("a text of %d bytes, want one line of at most %d that prints", len(v), maxParameter)
		}
	case []any:
		for _, one := range v {
			if err := checkTexts(one); err != nil {
				return err
			}
		}
	case []map[string]any:
		for _, one := range v {
			if err := checkTexts(one); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, one := range v {
			if err := errors.Join(checkTexts(key), checkTexts(one)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Text renders the job; equal jobs give equal bytes.
func (j *Job) Text() ([]byte, error) {
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(j); err != nil {
		return nil, fmt.Errorf("job %q: %w", j.Name, err)
	}
	return b.Bytes(), nil
}

// Members finds the job's parties in a charter, in the job's order, and checks the charter's
// rules.
func (j *Job) Members(c *keys.Charter) ([]Party, error) {
	if !c.Rules.AllowsPrivacy(j.Privacy) {
		return nil, fmt.Errorf("job %q: privacy is %q, the charter asks for at least %q", j.Name, j.Privacy,
			cmp.Or(c.Rules.MinPrivacy, keys.PrivacyMasked))
	}
	if least := j.Contributors(c.Rules); j.Privacy != keys.PrivacyPublished && j.Task != TaskAlign &&
		len(j.Parties) < least {
		return nil, fmt.Errorf("job %q: %d parties, charter %q opens no sum over fewer than %d", j.Name,
			len(j.Parties), c.Name, least)
	}
	parties := make([]Party, len(j.Parties))
	for i, name := range j.Parties {
		m, ok := c.MemberNamed(name)
		if !ok {
			var members []string
			for _, m := range c.Members {
				members = append(members, m.Name)
			}
			return nil, fmt.Errorf("job %q: party %q is not a member of charter %q%s", j.Name, name, c.Name,
				wording.DidYouMean(name, members))
		}
		parties[i] = Party{Name: m.Name, ID: m.ID}
	}
	return parties, j.CheckRoles(c)
}

// Index returns the position of the named party in the job, -1 when it is not in it.
func (j *Job) Index(name string) int { return slices.Index(j.Parties, name) }
