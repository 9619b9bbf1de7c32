package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/internal/vertical"
)

// svmCost is C of the support vector machine.
const svmCost = 10

// svmRun is what svm-train took and how its model does on the test rows.
type svmRun struct {
	Seconds    float64
	CPUSeconds float64
	Error      float64
}

// checkSVM says what to install if LIBSVM's programs are not there.
func checkSVM() error {
	for _, name := range []string{"svm-train", "svm-predict"} {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("--svm needs %s on the path: it comes with LIBSVM, in Debian's package libsvm-tools", name)
		}
	}
	return nil
}

// runSVM trains and tests LIBSVM on the rows that the federation has with this seed, scaled in the
// same way. The time is that of svm-train with its file reading; nothing else counts.
// svm-train has one thread, so that its processor time is what it would take on an idle machine.
func runSVM(ctx context.Context, s *benchmarkSet, parties int, seed uint64, dir string) (svmRun, error) {
	train, test, model, said := filepath.Join(dir, "train.svm"), filepath.Join(dir, "test.svm"), filepath.Join(dir, "svm.model"), filepath.Join(dir, "svm.out")
	labels, err := writeSVMFiles(s, parties, seed, train, test)
	if err != nil {
		return svmRun{}, err
	}
	start := time.Now()
	cpu, err := command(ctx, "svm-train", "-q", "-t", "2", "-c", fmt.Sprint(svmCost), "-g", fmt.Sprint(s.svmGamma()), train, model)
	if err != nil {
		return svmRun{}, err
	}
	r := svmRun{Seconds: time.Since(start).Seconds(), CPUSeconds: cpu.Seconds()}
	if _, err := command(ctx, "svm-predict", test, model, said); err != nil {
		return svmRun{}, err
	}
	text, err := os.ReadFile(said)
	if err != nil {
		return svmRun{}, err
	}
	r.Error, err = wrongShare(strings.Fields(string(text)), labels)
	return r, err
}

// writeSVMFiles writes the training and test rows and returns the test labels.
func writeSVMFiles(s *benchmarkSet, parties int, seed uint64, train, test string) ([]float64, error) {
	data, err := trial.Files(s.files, s.options(), parties, seed)
	if err != nil {
		return nil, err
	}
	p := fdskl.Params{Label: data.Label, Scale: s.scale, Constant: "drop"}.WithDefaults()
	var trainRows, testRows []*kernel.Matrix
	var labels []float64
	for i, t := range data.Train {
		prepared, err := vertical.PrepareTraining(t, p, i == 0)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			labels = prepared.Labels.Values
		}
		scored, err := vertical.PrepareScoring(data.Test[i], &fdskl.Model{Columns: prepared.Columns, Normaliser: prepared.Normaliser})
		if err != nil {
			return nil, err
		}
		trainRows, testRows = append(trainRows, prepared.Rows), append(testRows, scored)
	}
	held, err := data.Test[0].Labels(data.Label, dataset.Classification)
	if err != nil {
		return nil, err
	}
	return held.Values, errors.Join(writeLIBSVMFile(train, trainRows, labels), writeLIBSVMFile(test, testRows, held.Values))
}

// wrongShare compares predicted labels with the right ones.
func wrongShare(got []string, want []float64) (float64, error) {
	if len(got) != len(want) {
		return 0, fmt.Errorf("svm-predict wrote %d labels for %d rows", len(got), len(want))
	}
	wrong := 0
	for i, text := range got {
		y, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return 0, fmt.Errorf("svm-predict wrote %q as label %d", text, i+1)
		}
		if y != want[i] {
			wrong++
		}
	}
	return float64(wrong) / float64(len(want)), nil
}

// command runs a program and returns the processor time it took; what it says is in the error.
func command(ctx context.Context, name string, args ...string) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	if said, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s: %w: %s", name, err, lastLines(said, 3))
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}
