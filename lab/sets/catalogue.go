package sets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The papers, as the list names them.
const (
	FDSKL  = "FDSKL"
	POFMKL = "POF-MKL"
	OFMSFT = "OFMS-FT"
)

// Set is a data set of a paper.
type Set struct {
	Name    string
	Folder  string     // below the data folder; files may also lie in the data folder itself
	Files   [][]string // each by the names that it is known by, without .gz or .bz2
	Rows    int        // that the papers use
	Columns int        // inputs
	Task    string     // what is predicted
	Papers  []string
	Source  string // who publishes it and as what
}

// All returns the sets of the papers, those with two classes first.
func All() []Set {
	const libsvm, uci = "LIBSVM's data page, binary classification", "UCI Machine Learning Repository"
	one := func(names ...string) [][]string { return [][]string{names} }
	return []Set{
		{"gisette", "gisette", one("gisette_scale", "gisette"), 6000, 5000, "2 classes", []string{FDSKL}, libsvm},
		{"phishing", "", one("phishing"), 11055, 68, "2 classes", []string{FDSKL}, libsvm},
		{"a9a", "", [][]string{{"a9a"}, {"a9a.t"}}, 48842, 123, "2 classes", []string{FDSKL}, libsvm},
		{"ijcnn1", "", one("ijcnn1"), 49990, 22, "2 classes", []string{FDSKL}, libsvm},
		{"cod-rna", "cod-rna", one("cod-rna"), 59535, 8, "2 classes", []string{FDSKL}, libsvm},
		{"w8a", "", one("w8a"), 49749, 300, "2 classes", []string{FDSKL}, libsvm},
		{"real-sim", "real-sim", one("real-sim"), 72309, 20958, "2 classes", []string{FDSKL}, libsvm},
		{"epsilon", "epsilon", one("epsilon_normalized", "epsilon"), 400000, 2000, "2 classes", []string{FDSKL},
			libsvm},
		{"defaultcredit", "", one("defaultcredit.csv"), 30000, 23, "2 classes", []string{FDSKL},
			uci + ", Default of Credit Card Clients, its sheet saved as CSV"},
		{"givemecredit", "givemecredit", one("cs-training.csv"), 150000, 10, "2 classes", []string{FDSKL},
			"Kaggle, competition GiveMeSomeCredit"},
		{"naval", "", one("naval.txt"), 11500, 15, "lever", []string{POFMKL},
			uci + ", Condition Based Maintenance of Naval Propulsion Plants, data.txt under this name"},
		{"uji", "uji", [][]string{{"trainingData.csv"}, {"validationData.csv"}}, 21000, UJIColumns, "latitude",
			[]string{POFMKL}, uci + ", UJIIndoorLoc"},
		{"air", "air", airFiles(), 120000, 14, "NO2", []string{POFMKL, OFMSFT},
			uci + ", Beijing Multi-Site Air Quality, a station's file under this name"},
		{"wec", "wec", wecFiles(), 280000, WECColumns, "total power", []string{POFMKL, OFMSFT},
			uci + ", Wave Energy Converters"},
		{"mnist", "mnist", [][]string{{"t10k-images-idx3-ubyte"}, {"t10k-labels-idx1-ubyte"}}, 10000, 28 * 28,
			"10 classes", []string{OFMSFT}, "the MNIST database of handwritten digits"},
		{"cifar10", "cifar10", one("test_batch.bin"), 10000, CIFARColumns, "10 classes", []string{OFMSFT},
			"the CIFAR-10 page of the University of Toronto, binary version"},
	}
}

// airFiles names a station's file each.
func airFiles() (files [][]string) {
	for _, site := range []string{"Aotizhongxin", "Changping", "Dingling", "Dongsi"} {
		files = append(files, []string{"PRSA_Data_" + site + ".csv"})
	}
	return files
}

// WECSites returns the sites of wave energy converters, in the order of the set's files.
func WECSites() []string { return []string{"Adelaide", "Perth", "Sydney", "Tasmania"} }

// wecFiles names a site's file each.
func wecFiles() (files [][]string) {
	for _, site := range WECSites() {
		files = append(files, []string{site + "_Data.csv"})
	}
	return files
}

// Named returns the set of that name. The error lists those that there are.
func Named(name string) (Set, error) {
	all := All()
	i := slices.IndexFunc(all, func(s Set) bool { return s.Name == name })
	if i < 0 {
		var names []string
		for _, s := range all {
			names = append(names, s.Name)
		}
		return Set{}, fmt.Errorf("there is no set %q; there are %s", name, strings.Join(names, ", "))
	}
	return all[i], nil
}

// Find returns where the set's files are below a data folder, in the order of Files. The error of one that is
// not there, which errors.Is tells as fs.ErrNotExist, says where to get the set and where to put it.
func (s Set) Find(data string) ([]string, error) {
	var found []string
	for _, names := range s.Files {
		path, err := s.find(data, names)
		if err != nil {
			return nil, err
		}
		found = append(found, path)
	}
	return found, nil
}

// find returns where a file is that has several names.
func (s Set) find(data string, names []string) (string, error) {
	folders := []string{filepath.Join(data, s.Folder), data}
	for _, folder := range folders {
		if info, err := os.Stat(folder); err == nil && !info.IsDir() {
			continue // a file of the set's name
		}
		for _, name := range names {
			for _, packed := range []string{"", ".gz", ".bz2"} {
				path := filepath.Join(folder, name+packed)
				info, err := os.Stat(path)
				if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
					continue
				}
				return path, err
			}
		}
	}
	return "", &absent{s, folders[0], strings.Join(names, " or ")}
}

// absent is the error of a file that is not there.
type absent struct {
	set          Set
	folder, name string
}

func (e *absent) Error() string {
	return fmt.Sprintf("the set %q is not here: %s has no %s, plain, .gz or .bz2; get it from: %s",
		e.set.Name, e.folder, e.name, e.set.Source)
}

// Is makes it an fs.ErrNotExist.
func (e *absent) Is(target error) bool { return target == fs.ErrNotExist }
