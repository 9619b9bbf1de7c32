package keys

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// shardKeysOf are the keys of shards 0 and 11 of a job.
func shardKeysOf() *ShardKeys {
	return &ShardKeys{Note: "of job credit", Contract: HashOf("job"), Expires: time.Unix(1_900_000_000, 0).UTC(),
		Keys: map[int]*PrivateKey{0: keyNamed("bank"), 11: keyNamed("telco")}}
}

// TestShardKeysComeBack from their file, which nobody else can read and nothing is written over.
func TestShardKeysComeBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	s := shardKeysOf()
	must(t, CreateShardKeys(path, s))
	got, err := LoadShardKeys(path)
	must(t, err)
	if got.Contract != s.Contract || !got.Expires.Equal(s.Expires) || len(got.Keys) != 2 ||
		got.Keys[0].ID() != s.Keys[0].ID() || got.Keys[11].ID() != s.Keys[11].ID() {
		t.Errorf("%+v comes back as %+v", s, got)
	}
	if err := CreateShardKeys(path, s); err == nil || !strings.Contains(err.Error(), "never overwritten") {
		t.Errorf("a second file: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v: %v", info.Mode(), err)
	}
	must(t, os.Chmod(path, 0o640))
	if _, err := LoadShardKeys(path); err == nil || !strings.Contains(err.Error(), "open to other users") {
		t.Errorf("a file that others may read: %v", err)
	}
}

// TestShardKeysThatAreRefused say in which line, and quote no secret.
func TestShardKeysThatAreRefused(t *testing.T) {
	text := string(shardKeysOf().Text())
	secret := keyNamed("bank").secretText()
	instead := func(old, with string) string { return strings.Replace(text, old, with, 1) }
	for want, changed := range map[string]string{
		"format, contract or expires is missing": "",
		"there is no key in it":                  text[:strings.Index(text, "0 = ")],
		"is missing":                             instead("expires", "# expires"),
		"line 3: the format is not":              instead("-v1", "-v2"),
		"line 3: the format is to stand first":   instead("format", "1"),
		"line 6: malformed secret key":           instead(secret, secret[:len(secret)-1]),
		"line 7: neither the number of a shard":  instead("\n11 =", "\n0 ="),
		"line 6: neither the number":             instead("\n0 =", "\n-1 ="),
		"line 6: want a name":                    instead("\n0 = ", "\n0="),
		"line 4: malformed hash":                 instead("contract = \"", "contract = \"x"),
		"hanse worker key makes one for a job":   "# a key file\n" + secret + "\n",
		"more than 524288 bytes":                 text + strings.Repeat("#\n", maxShardKeys/2),
	} {
		_, err := ParseShardKeys([]byte(changed))
		if changed == text || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %s", err, want)
		} else if strings.Contains(err.Error(), secret[len(secretPrefix):]) {
			t.Errorf("the error quotes a secret: %v", err)
		}
	}
}

// TestTheLongestJobsKeysAreRead: a file with a key of each of 4,096 shards is not too long.
func TestTheLongestJobsKeysAreRead(t *testing.T) {
	s := shardKeysOf()
	for shard := range 4096 {
		s.Keys[shard] = s.Keys[0]
	}
	got, err := ParseShardKeys(s.Text())
	if err != nil || len(got.Keys) != 4096 {
		t.Error(fmt.Errorf("%d bytes: %w", len(s.Text()), err))
	}
}

func FuzzShardKeys(f *testing.F) {
	f.Add(shardKeysOf().Text())
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseShardKeys(text)
		if err != nil {
			return
		}
		again, err := ParseShardKeys(s.Text())
		if err != nil || string(again.Text()) != string(s.Text()) {
			t.Errorf("%q is not read again: %v", s.Text(), err)
		}
	})
}
