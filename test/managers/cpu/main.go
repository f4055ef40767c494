// Runs sequences of pods through kubelet's static policy of the CPU manager, and prints what it decided.
//
// Reads one JSON value from standard input (the type input), and writes one line of JSON for each sequence: a list with one
// text for each step, and the checkpoint file at the end. See place-sequence.ts for the notation.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/topology"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/utils/cpuset"
)

type input struct {
	Machines  map[string][][5]int `json:"machines"` // CPU, core, socket, NUMA node, uncore cache
	Sequences []sequence          `json:"sequences"`
}

type sequence struct {
	Machine  string            `json:"machine"`
	Options  map[string]string `json:"options"`
	Reserved string            `json:"reserved"` // a list of CPUs; empty: reservedCount decides
	Count    int               `json:"reservedCount"`
	Scope    string            `json:"scope"`
	Steps    []step            `json:"steps"`
}

type step struct {
	Kind       string      `json:"kind"` // place, release or restart
	Uid        string      `json:"uid"`
	Guaranteed bool        `json:"guaranteed"`
	Pick       int         `json:"pick"` // which hint the topology manager would choose; negative: none
	Containers []container `json:"containers"`
}

type container struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // init, sidecar or app
	Cpu  string `json:"cpu"`
}

// affinityStore answers with the hint that was chosen last.
type affinityStore struct{ hint topologymanager.TopologyHint }

func (s *affinityStore) GetAffinity(string, string) topologymanager.TopologyHint { return s.hint }
func (s *affinityStore) GetPolicy() topologymanager.Policy                        { return topologymanager.NewNonePolicy() }
func (s *affinityStore) Name() string                                            { return "recorded" }

func main() {
	if err := utilfeature.DefaultMutableFeatureGate.Set("CPUManagerPolicyAlphaOptions=true,CPUManagerPolicyBetaOptions=true"); err != nil {
		fail(err)
	}
	var all input
	if err := json.NewDecoder(bufio.NewReader(os.Stdin)).Decode(&all); err != nil {
		fail(err)
	}
	out := bufio.NewWriter(os.Stdout)
	for _, each := range all.Sequences {
		line, err := json.Marshal(run(topologyOf(all.Machines[each.Machine]), each))
		if err != nil {
			fail(err)
		}
		fmt.Fprintf(out, "%s\n", line)
	}
	if err := out.Flush(); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func topologyOf(rows [][5]int) *topology.CPUTopology {
	details := topology.CPUDetails{}
	for _, row := range rows {
		details[row[0]] = topology.CPUInfo{CoreID: row[1], SocketID: row[2], NUMANodeID: row[3], UncoreCacheID: row[4]}
	}
	return &topology.CPUTopology{
		NumCPUs:        len(rows),
		NumCores:       details.Cores().Size(),
		NumSockets:     details.Sockets().Size(),
		NumNUMANodes:   details.NUMANodes().Size(),
		NumUncoreCache: details.UncoreCaches().Size(),
		CPUDetails:     details,
	}
}

func run(topo *topology.CPUTopology, s sequence) []string {
	logger := logr.Discard()
	store := &affinityStore{}
	memory := state.NewMemoryState(logger)
	reserved, err := cpuset.Parse(s.Reserved)
	if err != nil {
		fail(err)
	}
	start := func() (cpumanager.Policy, error) {
		policy, err := cpumanager.NewStaticPolicy(logger, topo, s.Count, reserved, store, s.Options)
		if err != nil {
			return nil, err
		}
		return policy, policy.Start(logger, memory)
	}
	policy, err := start()
	if err != nil {
		return []string{"!" + err.Error()}
	}
	results := []string{memory.GetDefaultCPUSet().String()}
	for _, each := range s.Steps {
		switch each.Kind {
		case "restart":
			if policy, err = start(); err != nil {
				return append(results, "!"+err.Error())
			}
			results = append(results, "restarted")
		case "release":
			release(logger, policy, memory, each.Uid)
			results = append(results, memory.GetDefaultCPUSet().String())
		default:
			results = append(results, place(logger, policy, memory, store, s.Scope, each))
		}
	}
	return append(results, checkpointOf(memory))
}

func release(logger logr.Logger, policy cpumanager.Policy, memory state.State, uid string) {
	for name := range memory.GetCPUAssignments()[uid] {
		if err := policy.RemoveContainer(logger, memory, uid, name); err != nil {
			fail(err)
		}
	}
}

func place(logger logr.Logger, policy cpumanager.Policy, memory state.State, store *affinityStore, scope string, s step) string {
	pod := podOf(s)
	parts := []string{}
	if scope == "pod" {
		hints := policy.GetPodTopologyHints(logger, memory, pod)
		store.hint = choose(hints, s.Pick)
		parts = append(parts, hintText(hints))
	}
	for _, each := range append(append([]v1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...) {
		hintsText := ""
		if scope != "pod" {
			hints := policy.GetTopologyHints(logger, memory, pod, &each)
			store.hint = choose(hints, s.Pick)
			hintsText = hintText(hints) + "="
		}
		if err := policy.Allocate(logger, memory, pod, &each); err != nil {
			parts = append(parts, hintsText+"!"+err.Error())
			release(logger, policy, memory, s.Uid)
			break
		}
		cpus, ok := memory.GetCPUSet(s.Uid, each.Name)
		if ok {
			parts = append(parts, hintsText+cpus.String())
		} else {
			parts = append(parts, hintsText+"shared")
		}
	}
	return strings.Join(parts, ";")
}

func choose(hints map[string][]topologymanager.TopologyHint, pick int) topologymanager.TopologyHint {
	all := hints["cpu"]
	if pick < 0 || len(all) == 0 {
		return topologymanager.TopologyHint{}
	}
	return all[pick%len(all)]
}

func hintText(hints map[string][]topologymanager.TopologyHint) string {
	if hints == nil {
		return "-"
	}
	texts := []string{}
	for _, hint := range hints["cpu"] {
		mask := uint64(0)
		for _, bit := range hint.NUMANodeAffinity.GetBits() {
			mask |= 1 << bit
		}
		text := fmt.Sprintf("%x", mask)
		if hint.Preferred {
			text += "p"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ",")
}

func podOf(s step) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(s.Uid), Name: s.Uid, Namespace: "default"}}
	always := v1.ContainerRestartPolicyAlways
	for _, each := range s.Containers {
		amounts := v1.ResourceList{v1.ResourceCPU: resource.MustParse(each.Cpu), v1.ResourceMemory: resource.MustParse("1Gi")}
		c := v1.Container{Name: each.Name, Resources: v1.ResourceRequirements{Requests: amounts}}
		if s.Guaranteed {
			c.Resources.Limits = amounts
		}
		switch each.Kind {
		case "sidecar":
			c.RestartPolicy = &always
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
		case "init":
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
		default:
			pod.Spec.Containers = append(pod.Spec.Containers, c)
		}
	}
	return pod
}

// checkpointOf returns the bytes that kubelet writes for this state.
func checkpointOf(memory state.State) string {
	folder, err := os.MkdirTemp("", "cpu-manager")
	if err != nil {
		fail(err)
	}
	defer os.RemoveAll(folder)
	file, err := state.NewCheckpointState(logr.Discard(), folder, "cpu_manager_state", "static", containermap.ContainerMap{})
	if err != nil {
		fail(err)
	}
	file.SetCPUAssignments(memory.GetCPUAssignments())
	file.SetDefaultCPUSet(memory.GetDefaultCPUSet())
	bytes, err := os.ReadFile(filepath.Join(folder, "cpu_manager_state"))
	if err != nil {
		fail(err)
	}
	return string(bytes)
}

