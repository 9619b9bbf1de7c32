// Package test holds the Helm chart against Helm's own linter and Kubernetes' own types. It is a module of its own: the
// program needs neither.
package test

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// chartDir is where the chart stands.
var chartDir = filepath.Join("..", "hanse")

// values are given as a member would.
func values() []map[string]any {
	charter := "format = \"hanse-charter-v1\"\nname = \"credit\"\n"
	return []map[string]any{
		{"charter": charter},
		{
			"charter": charter, "policy": "format = \"hanse-policy-v1\"\n", "flags": []any{"--data", "/tables/bank.csv"},
			"tables":  map[string]any{"existingClaim": "tables"},
			"storage": map[string]any{"className": "fast"},
			"parts":   map[string]any{"existingClaim": "parts"},
			"networkPolicy": map[string]any{"members": []any{"203.0.113.7/32"}, "ports": []any{4001, 5432},
				"metricsFrom": map[string]any{"app": "prometheus"}},
		},
		{"charter": charter, "networkPolicy": map[string]any{"enabled": false}},
	}
}

func TestLint(t *testing.T) {
	for _, v := range values() {
		for _, m := range lint.All(chartDir, v, "default", true).Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%v", m)
			}
		}
	}
}

// render returns the chart's documents.
func render(t *testing.T, v map[string]any) (documents [][]byte, err error) {
	t.Helper()
	c, err := loader.Load(chartDir)
	must(t, err)
	all, err := chartutil.ToRenderValues(c, v, chartutil.ReleaseOptions{Name: "bank", Namespace: "default"}, nil)
	must(t, err)
	files, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	for name, text := range files {
		if filepath.Ext(name) != ".yaml" {
			continue
		}
		for d := yamlutil.NewYAMLReader(bufio.NewReader(strings.NewReader(text))); ; {
			document, err := d.Read()
			if err == io.EOF {
				break
			}
			must(t, err)
			documents = append(documents, document)
		}
	}
	return documents, nil
}

// TestManifests: what the chart renders are documents of Kubernetes without an unknown field, whose node is confined
// and is started with flags that the program has.
func TestManifests(t *testing.T) {
	for _, v := range values() {
		documents, err := render(t, v)
		must(t, err)
		var kinds []string
		for _, text := range documents {
			var head struct{ Kind string }
			must(t, yaml.Unmarshal(text, &head))
			kinds = append(kinds, head.Kind)
			into := map[string]any{"ConfigMap": &corev1.ConfigMap{}, "Service": &corev1.Service{},
				"StatefulSet": &appsv1.StatefulSet{}, "NetworkPolicy": &networkingv1.NetworkPolicy{}}[head.Kind]
			if into == nil {
				t.Fatalf("a %q", head.Kind)
			}
			if err := yaml.UnmarshalStrict(text, into); err != nil {
				t.Errorf("%s: %v", head.Kind, err)
			}
			if set, ok := into.(*appsv1.StatefulSet); ok {
				checkNode(t, &set.Spec.Template.Spec)
			}
		}
		if wanted := slices.Contains(kinds, "NetworkPolicy"); !slices.Contains(kinds, "StatefulSet") ||
			wanted == (len(kinds) == 3) {
			t.Errorf("it renders %v", kinds)
		}
	}
	if _, err := render(t, nil); err == nil || !strings.Contains(err.Error(), "--set-file charter=charter.toml") {
		t.Errorf("without a charter: %v", err)
	}
}

// checkNode looks at the node's pod.
func checkNode(t *testing.T, pod *corev1.PodSpec) {
	t.Helper()
	if s := pod.SecurityContext; s.RunAsNonRoot == nil || !*s.RunAsNonRoot || *s.RunAsUser == 0 {
		t.Error("it may run as root")
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		if s := c.SecurityContext; !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation ||
			!slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) {
			t.Errorf("%s is not confined: %+v", c.Name, s)
		}
	}
	node := pod.Containers[0]
	if node.ReadinessProbe.HTTPGet.Path != "/readyz" || node.LivenessProbe.HTTPGet.Path != "/healthz" {
		t.Errorf("it is asked for %v and %v", node.ReadinessProbe.HTTPGet, node.LivenessProbe.HTTPGet)
	}
	mounted := make(map[string]bool)
	for _, v := range pod.Volumes {
		mounted[v.Name] = true
	}
	for _, m := range node.VolumeMounts {
		if !mounted[m.Name] && m.Name != "data" {
			t.Errorf("there is no volume %s", m.Name)
		}
	}
	// The program is asked whether it has the flags: its node then fails for want of the files.
	program := os.Getenv("HANSE")
	if program == "" {
		t.Log("no $HANSE: the flags are not held against the program")
		return
	}
	out, _ := exec.Command(program, node.Args...).CombinedOutput()
	if !bytes.Contains(out, []byte("no such file")) {
		t.Errorf("hanse %s: %s", strings.Join(node.Args, " "), out)
	}
}

// must ends the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
