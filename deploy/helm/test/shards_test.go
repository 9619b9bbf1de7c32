package test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// TestShards holds what internal/manifest writes, and keeps in its testdata, against Kubernetes' types: without an
// unknown field, an Indexed Job that the API takes, whose pods are confined and reach no more than they need.
func TestShards(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "internal", "manifest", "testdata", "kubernetes-*.yaml"))
	if err != nil || len(files) != 2 {
		t.Fatalf("the manifests are %q (%v)", files, err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			must(t, err)
			job, policy := new(batchv1.Job), new(networkingv1.NetworkPolicy)
			d := yamlutil.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
			for _, into := range []any{job, policy} {
				document, err := d.Read()
				must(t, err)
				if err := yaml.UnmarshalStrict(document, into); err != nil {
					t.Error(err)
				}
			}
			if _, err := d.Read(); err != io.EOF {
				t.Errorf("there is more than two documents (%v)", err)
			}
			if job.APIVersion != "batch/v1" || job.Kind != "Job" || policy.APIVersion != "networking.k8s.io/v1" ||
				policy.Kind != "NetworkPolicy" {
				t.Errorf("they are %v and %v", job.TypeMeta, policy.TypeMeta)
			}
			checkJob(t, job)
			checkReach(t, job, policy, strings.Contains(path, "address"))
		})
	}
}

// checkJob looks at what the API's validation asks for of an Indexed Job with limits for each index.
func checkJob(t *testing.T, job *batchv1.Job) {
	t.Helper()
	s := &job.Spec
	if s.CompletionMode == nil || *s.CompletionMode != batchv1.IndexedCompletion || *s.Completions != 16 ||
		*s.Parallelism != 4 {
		t.Errorf("it is %v with %v completions, %v at a time", s.CompletionMode, s.Completions, s.Parallelism)
	}
	if s.BackoffLimit != nil || s.BackoffLimitPerIndex == nil || *s.BackoffLimitPerIndex < 100 ||
		s.MaxFailedIndexes == nil || *s.MaxFailedIndexes > *s.Completions {
		t.Errorf("its limits are %v, %v, %v", s.BackoffLimit, s.BackoffLimitPerIndex, s.MaxFailedIndexes)
	}
	pod := &s.Template.Spec
	if pod.RestartPolicy != corev1.RestartPolicyNever { // limits for each index and rules about failures want it
		t.Errorf("its pods start again: %s", pod.RestartPolicy)
	}
	if s.PodReplacementPolicy == nil || *s.PodReplacementPolicy != batchv1.Failed || s.PodFailurePolicy == nil {
		t.Error("a shard may have two workers at a time")
	}
	// A pod's host is called as the Job with the index, and 63 characters are allowed.
	if n := len(fmt.Sprintf("%s-%d", job.Name, *s.Completions-1)); n > 63 {
		t.Errorf("a pod's host has a name of %d characters", n)
	}
	if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
		t.Error("its pods have a token of the cluster")
	}
	security := pod.SecurityContext
	if !*security.RunAsNonRoot || security.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("its pods are not confined: %+v", security)
	}
	// Parts are for their owner alone: the node that writes them is the same user.
	documents, err := render(t, values()[0])
	must(t, err)
	for _, text := range documents {
		var node struct {
			Kind string
			Spec struct{ Template corev1.PodTemplateSpec }
		}
		if err := yaml.Unmarshal(text, &node); err == nil && node.Kind == "StatefulSet" &&
			!reflect.DeepEqual(node.Spec.Template.Spec.SecurityContext, security) {
			t.Errorf("the node's pod has %+v, a worker's %+v", node.Spec.Template.Spec.SecurityContext, security)
		}
	}
	volumes := make(map[string]corev1.VolumeSource)
	for _, v := range pod.Volumes {
		volumes[v.Name] = v.VolumeSource
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		if c := c.SecurityContext; !*c.ReadOnlyRootFilesystem || *c.AllowPrivilegeEscalation ||
			!slices.Equal(c.Capabilities.Drop, []corev1.Capability{"ALL"}) {
			t.Errorf("a container is not confined: %+v", c)
		}
		if c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().Cmp(*c.Resources.Requests.Memory()) < 0 ||
			c.Resources.Limits.Cpu().Cmp(*c.Resources.Requests.Cpu()) < 0 {
			t.Errorf("%s takes %v", c.Name, c.Resources)
		}
		for _, m := range c.VolumeMounts {
			if _, ok := volumes[m.Name]; !ok {
				t.Errorf("there is no volume %s", m.Name)
			}
		}
	}
	if k := volumes["secret"].Secret; *k.Items[0].Mode != 0o400 {
		t.Errorf("the key's mode is %o", *k.Items[0].Mode)
	}
	if !volumes["parts"].PersistentVolumeClaim.ReadOnly || volumes["scratch"].EmptyDir.SizeLimit.IsZero() {
		t.Error("its pods may write parts, or as much as they want")
	}
	worker := pod.Containers[0]
	if worker.Args[0] != "worker" || !slices.Contains(worker.Args, "--of=16") ||
		slices.ContainsFunc(worker.Args, func(a string) bool { return strings.HasPrefix(a, "--shard") }) {
		t.Errorf("it runs %q", worker.Args)
	}
}

// checkReach looks at where the pods of a Job may go.
func checkReach(t *testing.T, job *batchv1.Job, policy *networkingv1.NetworkPolicy, byAddress bool) {
	t.Helper()
	s := policy.Spec
	for k, v := range s.PodSelector.MatchLabels {
		if job.Spec.Template.Labels[k] != v {
			t.Errorf("it is about other pods: %v", s.PodSelector.MatchLabels)
		}
	}
	if policy.Namespace != job.Namespace || len(s.PodSelector.MatchLabels) == 0 || len(s.Ingress) != 0 ||
		len(s.PolicyTypes) != 2 {
		t.Errorf("it does not close its pods: %+v", policy)
	}
	tcp, udp := corev1.ProtocolTCP, corev1.ProtocolUDP
	node, dns := intstr.FromInt32(4711), intstr.FromInt32(53)
	want := []networkingv1.NetworkPolicyEgressRule{
		{Ports: []networkingv1.NetworkPolicyPort{{Port: &node, Protocol: &tcp}}},
		{Ports: []networkingv1.NetworkPolicyPort{{Port: &dns, Protocol: &udp}, {Port: &dns, Protocol: &tcp}}},
	}
	if byAddress {
		want = want[:1]
		want[0].To = []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "2001:db8::7/128"}}}
	}
	if !reflect.DeepEqual(s.Egress, want) {
		t.Errorf("its pods reach %+v", s.Egress)
	}
}

// TestInitImage: the chart and the manifest copy the key by the same image.
func TestInitImage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(chartDir, "values.yaml"))
	must(t, err)
	var v struct{ InitImage string }
	must(t, yaml.Unmarshal(text, &v))
	program, err := os.ReadFile(filepath.Join("..", "..", "..", "internal", "manifest", "manifest.go"))
	if err != nil || !strings.Contains(string(program), fmt.Sprintf("const InitImage = %q", v.InitImage)) {
		t.Errorf("the manifest copies by another image than %s (%v)", v.InitImage, err)
	}
}
