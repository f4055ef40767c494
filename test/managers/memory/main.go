// Command memory records what kubelet's own memory and topology managers decide about random pods, for tests to compare
// with. It writes JSON to standard output; record.sh builds and runs it.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/go-logr/logr"
	cadvisorapi "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager/bitmask"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

const mebibyte = 1 << 20

type nodeSpec struct {
	ID        int      `json:"id"`
	Memory    uint64   `json:"memory"`
	HugePages uint64   `json:"hugePages"` // pages of 2 MiB
	Distances []uint64 `json:"distances,omitempty"`
	Reserved  uint64   `json:"reserved"`
}

// A container: `name:memory:hugePages`, both in bytes, and `:sidecar`.
type containerSpec struct {
	Name    string
	Memory  int64
	Huge    int64
	Sidecar bool
}

func (c containerSpec) MarshalJSON() ([]byte, error) {
	text := fmt.Sprintf("%s:%d:%d", c.Name, c.Memory, c.Huge)
	if c.Sidecar {
		text += ":sidecar"
	}
	return json.Marshal(text)
}

type podSpec struct {
	UID        string          `json:"uid"`
	Init       []containerSpec `json:"init,omitempty"`
	Containers []containerSpec `json:"containers"`
	Burstable  bool            `json:"burstable,omitempty"`
}

type step struct {
	Add     *podSpec         `json:"add,omitempty"`
	Start   []string         `json:"start,omitempty"`
	Remove  string           `json:"remove,omitempty"`
	Restart bool             `json:"restart,omitempty"`
	Reason  string           `json:"reason,omitempty"`
	Message string           `json:"message,omitempty"`
	Nodes   map[string][]int `json:"nodes,omitempty"`
	State   string           `json:"state"`
}

type world struct {
	Nodes    []nodeSpec        `json:"nodes"`
	Policy   string            `json:"policy"`
	Scope    string            `json:"scope"`
	Options  map[string]string `json:"options,omitempty"`
	Steps    []step            `json:"steps"`
	FileText string            `json:"fileText,omitempty"`
}

// A hint: its nodes (`*`: any), and `+` if it is preferred.
type hintSpec struct {
	Nodes     []int
	Preferred bool
}

func (h hintSpec) MarshalJSON() ([]byte, error) {
	text := "*"
	if h.Nodes != nil {
		text = strings.Trim(strings.ReplaceAll(fmt.Sprint(h.Nodes), " ", ","), "[]")
	}
	if h.Preferred {
		text += "+"
	}
	return json.Marshal(text)
}

type merge struct {
	Nodes     int                      `json:"nodes"`
	Distances [][]uint64               `json:"distances,omitempty"`
	Policy    string                   `json:"policy"`
	Closest   bool                     `json:"closest,omitempty"`
	Providers []map[string]*[]hintSpec `json:"providers"`
	Hint      hintSpec                 `json:"hint"`
	Admit     bool                     `json:"admit"`
}

type managers struct {
	topology topologymanager.Manager
	memory   memorymanager.Manager
	active   map[string]*v1.Pod
	dir      string
	w        *world
}

type ready struct{}

func (ready) AddSource(string) {}
func (ready) AllReady() bool   { return true }

func machineInfo(nodes []nodeSpec) *cadvisorapi.MachineInfo {
	info := &cadvisorapi.MachineInfo{}
	for _, n := range nodes {
		node := cadvisorapi.Node{Id: n.ID, Memory: n.Memory, Distances: n.Distances}
		node.HugePages = []cadvisorapi.HugePagesInfo{{PageSize: 2048, NumPages: n.HugePages}}
		info.Topology = append(info.Topology, node)
	}
	return info
}

func (m *managers) start() error {
	info := machineInfo(m.w.Nodes)
	var total uint64
	var reserved []kubeletconfig.MemoryReservation
	for _, n := range m.w.Nodes {
		total += n.Reserved
		if n.Reserved == 0 {
			continue
		}
		limits := v1.ResourceList{v1.ResourceMemory: *resource.NewQuantity(int64(n.Reserved), resource.BinarySI)}
		reserved = append(reserved, kubeletconfig.MemoryReservation{NumaNode: int32(n.ID), Limits: limits})
	}
	allocatable := v1.ResourceList{v1.ResourceMemory: *resource.NewQuantity(int64(total), resource.BinarySI)}
	var err error
	m.topology, err = topologymanager.NewManager(info.Topology, m.w.Policy, m.w.Scope, m.w.Options)
	if err != nil {
		return err
	}
	m.memory, err = memorymanager.NewManager(logr.Discard(), "Static", info, allocatable, reserved, m.dir, m.topology)
	if err != nil {
		return err
	}
	m.topology.AddHintProvider(logr.Discard(), m.memory)
	active := func() []*v1.Pod {
		var pods []*v1.Pod
		for _, pod := range m.active {
			pods = append(pods, pod)
		}
		return pods
	}
	return m.memory.Start(context.Background(), active, ready{}, nil, nil, containermap.NewContainerMap())
}

func list(memory, huge int64) v1.ResourceList {
	resources := v1.ResourceList{
		v1.ResourceCPU:    resource.MustParse("1"),
		v1.ResourceMemory: *resource.NewQuantity(memory, resource.BinarySI),
	}
	if huge > 0 {
		resources["hugepages-2Mi"] = *resource.NewQuantity(huge, resource.BinarySI)
	}
	return resources
}

func podOf(spec *podSpec) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(spec.UID), Name: spec.UID, Namespace: "default"}}
	container := func(c containerSpec) v1.Container {
		one := v1.Container{Name: c.Name}
		one.Resources.Requests = list(c.Memory, c.Huge)
		if !spec.Burstable {
			one.Resources.Limits = list(c.Memory, c.Huge)
		}
		if c.Sidecar {
			always := v1.ContainerRestartPolicyAlways
			one.RestartPolicy = &always
		}
		return one
	}
	for _, c := range spec.Init {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, container(c))
	}
	for _, c := range spec.Containers {
		pod.Spec.Containers = append(pod.Spec.Containers, container(c))
	}
	return pod
}

// Makes kubelet search for stale containers, as each of its calls does.
func (m *managers) removeStale() {
	m.memory.GetPodTopologyHints(&v1.Pod{})
}

// The state in one canonical text: kubelet's order of blocks is that of a Go map.
func canonical(s state.Reader) string {
	var out strings.Builder
	machine := s.GetMachineState()
	var ids []int
	for id := range machine {
		ids = append(ids, id)
	}
	sort.Ints(ids)
	for _, id := range ids {
		node := machine[id]
		fmt.Fprintf(&out, "%d %d %v", id, node.NumberOfAssignments, node.Cells)
		var names []string
		for name := range node.MemoryMap {
			names = append(names, string(name))
		}
		sort.Strings(names)
		for _, name := range names {
			t := node.MemoryMap[v1.ResourceName(name)]
			fmt.Fprintf(&out, " %s:%d,%d,%d,%d,%d", name, t.TotalMemSize, t.SystemReserved, t.Allocatable, t.Reserved, t.Free)
		}
		out.WriteString("\n")
	}
	var lines []string
	for uid, containers := range s.GetMemoryAssignments() {
		for name, blocks := range containers {
			for _, b := range blocks {
				lines = append(lines, fmt.Sprintf("%s/%s %v %s %d\n", uid, name, b.NUMAAffinity, b.Type, b.Size))
			}
		}
	}
	sort.Strings(lines)
	out.WriteString(strings.Join(lines, ""))
	return out.String()
}

func (m *managers) hash() string {
	h := fnv.New32a()
	h.Write([]byte(canonical(m.memory.State())))
	return fmt.Sprintf("%08x", h.Sum32())
}

func (m *managers) admit(pod *v1.Pod, s *step) {
	m.active[string(pod.UID)] = pod
	result := m.topology.Admit(&lifecycle.PodAdmitAttributes{Pod: pod, Operation: lifecycle.AddOperation})
	s.Reason, s.Message = result.Reason, result.Message
	if !result.Admit {
		delete(m.active, string(pod.UID))
		m.removeStale()
		return
	}
	s.Nodes = map[string][]int{}
	for _, c := range append(append([]v1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...) {
		nodes := m.memory.GetMemoryNUMANodes(logr.Discard(), pod, &c)
		if nodes.Len() > 0 {
			s.Nodes[c.Name] = sortedInts(nodes.UnsortedList())
		}
	}
}

func sortedInts(values []int) []int {
	sort.Ints(values)
	return values
}

func drawPod(r *rand.Rand, number int, nodes []nodeSpec) *podSpec {
	pod := &podSpec{UID: fmt.Sprintf("p%d", number), Burstable: r.Intn(8) == 0}
	size := func() int64 {
		unit := int64(nodes[0].Memory) / 8
		return unit/4*int64(1+r.Intn(12)) + int64(r.Intn(3))*4096
	}
	huge := func() int64 {
		if nodes[0].HugePages == 0 || r.Intn(3) > 0 {
			return 0
		}
		return int64(1+r.Intn(int(nodes[0].HugePages))) * 2 * mebibyte
	}
	if r.Intn(3) == 0 {
		for i := 0; i <= r.Intn(3); i++ {
			pod.Init = append(pod.Init, containerSpec{fmt.Sprintf("i%d", i), size(), huge(), r.Intn(4) == 0})
		}
	}
	for i := 0; i <= r.Intn(3)*r.Intn(2); i++ {
		pod.Containers = append(pod.Containers, containerSpec{fmt.Sprintf("c%d", i), size(), huge(), false})
	}
	return pod
}

func drawNodes(r *rand.Rand, count int) []nodeSpec {
	memory := uint64(1+r.Intn(8)) * 1024 * mebibyte
	huge := uint64(0)
	if r.Intn(2) == 0 {
		huge = uint64(16 * (1 + r.Intn(4)))
	}
	nodes := make([]nodeSpec, count)
	for i := range nodes {
		nodes[i] = nodeSpec{ID: i, Memory: memory, HugePages: huge, Distances: distances(r, i, count)}
		if i == 0 || r.Intn(2) == 0 {
			nodes[i].Reserved = uint64(100+r.Intn(100)) * mebibyte
		}
	}
	return nodes
}

func distances(r *rand.Rand, at, count int) []uint64 {
	row := make([]uint64, count)
	for i := range row {
		switch {
		case i == at:
			row[i] = 10
		case i/2 == at/2:
			row[i] = 12
		default:
			row[i] = uint64(20 + (i+at)%3*6)
		}
	}
	return row
}

func run(r *rand.Rand, index int) world {
	policies := []string{"none", "best-effort", "restricted", "single-numa-node"}
	scopes := []string{"container", "pod"}
	counts := []int{1, 2, 2, 4, 8}
	w := world{Nodes: drawNodes(r, counts[r.Intn(len(counts))]), Policy: policies[index%4], Scope: scopes[index/4%2]}
	if r.Intn(3) == 0 {
		w.Options = map[string]string{"prefer-closest-numa-nodes": "true"}
	}
	if w.Options == nil {
		for i := range w.Nodes {
			w.Nodes[i].Distances = nil
		}
	}
	dir, err := os.MkdirTemp("", "memory")
	check(err)
	defer os.RemoveAll(dir)
	m := &managers{active: map[string]*v1.Pod{}, dir: dir, w: &w}
	check(m.start())
	freed := map[string]bool{}
	var order []string
	for i := 0; i < 14; i++ {
		s := step{}
		pick := ""
		if len(order) > 0 {
			pick = order[r.Intn(len(order))]
		}
		switch action := r.Intn(10); {
		case action < 6 || pick == "":
			s.Add = drawPod(r, i, w.Nodes)
			m.admit(podOf(s.Add), &s)
			if s.Reason == "" {
				order = append(order, s.Add.UID)
			}
		case action < 8:
			s.Remove = pick
			delete(m.active, pick)
			order = remove(order, pick)
			m.removeStale()
		case action < 9:
			pod := m.active[pick]
			container := pod.Spec.Containers[r.Intn(len(pod.Spec.Containers))]
			s.Start = []string{pick, container.Name}
			m.memory.AddContainer(logr.Discard(), pod, &container, pick+container.Name)
			freed[pick] = true
		default:
			s.Restart = true
			check(m.start())
			for _, uid := range order {
				if freed[uid] && len(m.active[uid].Spec.InitContainers) > 0 {
					continue // kubelet would assign memory to init containers that have ended
				}
				again := step{}
				m.admit(m.active[uid], &again)
				if again.Reason != "" {
					s.Reason, s.Message = again.Reason, uid+": "+again.Message
					order = remove(order, uid)
					break
				}
			}
		}
		s.State = m.hash()
		w.Steps = append(w.Steps, s)
	}
	if index < 8 {
		text, err := os.ReadFile(filepath.Join(dir, "memory_manager_state"))
		check(err)
		w.FileText = string(text)
	}
	return w
}

func remove(list []string, one string) []string {
	var rest []string
	for _, each := range list {
		if each != one {
			rest = append(rest, each)
		}
	}
	return rest
}

func drawMerge(r *rand.Rand, index int) merge {
	count := []int{1, 2, 2, 4, 8}[r.Intn(5)]
	nodes := make([]int, count)
	m := merge{Nodes: count, Policy: []string{"best-effort", "restricted", "single-numa-node"}[index%3], Closest: r.Intn(2) == 0}
	topology := []cadvisorapi.Node{}
	for i := range nodes {
		nodes[i] = i
		row := distances(r, i, count)
		topology = append(topology, cadvisorapi.Node{Id: i, Distances: row})
		if m.Closest {
			m.Distances = append(m.Distances, row)
		}
	}
	var all []map[string][]topologymanager.TopologyHint
	for p := 0; p <= r.Intn(3); p++ {
		hints := map[string][]topologymanager.TopologyHint{}
		specs := map[string]*[]hintSpec{}
		for k := 0; k < r.Intn(3); k++ {
			name := fmt.Sprintf("r%d", k)
			switch r.Intn(8) {
			case 0:
				hints[name], specs[name] = nil, nil
			case 1:
				hints[name], specs[name] = []topologymanager.TopologyHint{}, &[]hintSpec{}
			default:
				drawn := []hintSpec{}
				for h := 0; h <= r.Intn(4); h++ {
					bits := []int{}
					for len(bits) == 0 {
						for n := 0; n < count; n++ {
							if r.Intn(count) < 2 {
								bits = append(bits, n)
							}
						}
					}
					mask, _ := bitmask.NewBitMask(bits...)
					preferred := r.Intn(2) == 0
					hints[name] = append(hints[name], topologymanager.TopologyHint{NUMANodeAffinity: mask, Preferred: preferred})
					drawn = append(drawn, hintSpec{bits, preferred})
				}
				specs[name] = &drawn
			}
		}
		all, m.Providers = append(all, hints), append(m.Providers, specs)
	}
	opts := topologymanager.PolicyOptions{PreferClosestNUMA: m.Closest, MaxAllowableNUMANodes: 8}
	info, err := topologymanager.NewNUMAInfo(topology, opts)
	check(err)
	var policy topologymanager.Policy
	switch m.Policy {
	case "best-effort":
		policy = topologymanager.NewBestEffortPolicy(info, opts)
	case "restricted":
		policy = topologymanager.NewRestrictedPolicy(info, opts)
	default:
		policy = topologymanager.NewSingleNumaNodePolicy(info, opts)
	}
	hint, admit := policy.Merge(logr.Discard(), all)
	m.Hint.Preferred, m.Admit = hint.Preferred, admit
	if hint.NUMANodeAffinity != nil {
		m.Hint.Nodes = hint.NUMANodeAffinity.GetBits()
	}
	return m
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	klog.SetLogger(logr.Discard())
	r := rand.New(rand.NewSource(36))
	fmt.Println(`{"worlds": [`)
	for i := 0; i < 120; i++ {
		printLine(run(r, i), i == 119)
	}
	fmt.Println(`], "merges": [`)
	for i := 0; i < 400; i++ {
		printLine(drawMerge(r, i), i == 399)
	}
	fmt.Println("]}")
}

func printLine(value any, isLast bool) {
	text, err := json.Marshal(value)
	check(err)
	end := ","
	if isLast {
		end = ""
	}
	fmt.Printf("%s%s\n", text, end)
}
