# Nodelet. `make help` lists what there is.
NODE := scripts/node
BIOME := scripts/biome
SETUP := scripts/setup.sh
RUN_PARTS := scripts/run-parts.sh
TEST := $(NODE) --import ./test/setup.ts --test --test-reporter=spec
UNIT := 'src/**/*.test.ts' 'tools/**/*.test.ts' 'test/contract/**/*.test.ts' 'test/agent/**/*.test.ts' 'test/sim/**/*.test.ts' 'test/fuzz/**/*.test.ts' 'test/runtime/**/*.test.ts' 'test/critest/**/*.test.ts' 'test/conformance/**/*.test.ts'
INTEGRATION := 'test/integration/**/*.test.ts'
# Those that know no runtime by name: they run on containerd with all the others, then on the embedded one.
AGENT_TESTS := $(patsubst %,test/integration/%.test.ts,exec-input garbage-collection hooks image-credentials image-pulls \
  image-volumes log-rotation pod-deletion pod-env pod-failures pod-inside pod-lifecycle pod-namespaces pod-volumes probes \
  restart-backoff start-timeline)
KUBEADM_TOOLS := kubeadm kubectl crictl etcd kube-apiserver kube-controller-manager

# Those that meet most of what containerd 2 does differently; see also containerd2.test.ts and cri-containerd2.test.ts.
CONTAINERD2_TESTS := $(patsubst %,test/integration/%.test.ts,cluster-server exec-input image-volumes pod-lifecycle pod-namespaces)

.DEFAULT_GOAL := help
.PHONY: help setup testsetup run test check types lint boundaries words unit integration integration-containerd \
  integration-containerd2 integration-embedded validation conformance conformance-groups cluster-tools critest kubeadm vm \
  vm-reboot vm-drivers vm-critest vm-conformance csi-cycles cpu-decisions sim fuzz generate generated fmt dist clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

setup: ## Install what is missing (Debian packages, Node.js, npm packages)
	@$(SETUP)

testsetup:
	@$(SETUP) --tests

run: setup ## Run examples/hello.yaml on this machine (ARGS="--once" ends it by itself)
	@exec bin/nodelet run $(ARGS) examples/hello.yaml

test: testsetup ## Run every check; each part runs and reports, whatever the others do
	+@$(RUN_PARTS) check unit integration-containerd integration-containerd2 integration-embedded validation conformance-groups

check: types lint boundaries words generated ## Types, lint, import directions, words, generated files

types:
	@$(NODE) node_modules/typescript/bin/tsc --pretty false

lint:
	@$(BIOME) check --error-on-warnings .

boundaries:
	@$(NODE) tools/check-boundaries.ts

words:
	@$(NODE) tools/check-words.ts

unit: ## Unit and contract tests
	@$(TEST) $(UNIT)

integration: ## Tests against real runtimes (skipped with a reason where this machine cannot)
	+@$(RUN_PARTS) integration-containerd integration-containerd2 integration-embedded

integration-containerd:
	@$(TEST) --test-concurrency=1 $(INTEGRATION)

integration-containerd2:
	@NODELET_TEST_RUNTIME=containerd2 $(TEST) --test-concurrency=1 $(CONTAINERD2_TESTS)

integration-embedded:
	@NODELET_TEST_RUNTIME=embedded $(TEST) --test-concurrency=1 $(AGENT_TESTS)

validation:
	@$(NODE) test/critest/critest.ts

cluster-tools: ## Build a control plane, kubelet, kubeadm, kubectl, crictl, critest, containerd 2, metrics-server, a CSI driver and a device plugin for tests (needs Go; once)
	@scripts/cluster-tools.sh

critest: testsetup ## Run critest, the validation suite of CRI, on the embedded runtime (builds it when needed)
	@scripts/cluster-tools.sh critest
	@$(NODE) test/critest/critest.ts

kubeadm: testsetup ## Make a cluster with kubeadm on Nodelet: kubeadm init, and kubeadm join (builds their programs when needed)
	@scripts/cluster-tools.sh --kubeadm $(KUBEADM_TOOLS)
	@$(TEST) --test-concurrency=1 test/kubeadm/kubeadm-init.test.ts test/integration/kubeadm-join.test.ts

conformance: testsetup ## Run Kubernetes' node conformance tests on kubelet and on Nodelet; write docs/conformance.md (ARGS to choose)
	@scripts/cluster-tools.sh --conformance kubelet
	@$(NODE) test/conformance/conformance.ts $(ARGS)

conformance-groups:
	@$(NODE) test/conformance/conformance.ts --groups

vm: testsetup ## Run the tests that need systemd, cgroup v2 and AppArmor, in a virtual machine if this machine has none
	@scripts/vm-image.sh
	@$(NODE) test/vm/run-in-vm.ts $(ARGS)

vm-reboot: testsetup ## Cut the power of the virtual machine again and again, and check that its pods come back (ARGS="--trials 10")
	@scripts/vm-image.sh
	@$(NODE) test/vm/reboot.ts $(ARGS)

vm-drivers: testsetup ## Compare kubelet and Nodelet there with both cgroup drivers, and let each take over the other's pods
	@scripts/vm-image.sh
	@scripts/cluster-tools.sh kubelet
	@$(NODE) test/vm/drivers/vm-drivers.ts $(ARGS)

csi-cycles: testsetup ## Mount and unmount CSI volumes while the agent is killed at random moments (ARGS="--cycles 1000 --lanes 8 --seed 1")
	@scripts/cluster-tools.sh hostpathplugin
	@$(NODE) test/csi/cycles.ts $(ARGS)

vm-critest: testsetup ## Run critest with the systemd cgroup driver and AppArmor, in the virtual machine (hours; ARGS="--focus AppArmor")
	@scripts/vm-image.sh
	@scripts/cluster-tools.sh critest
	@$(NODE) test/vm/judges/vm-critest.ts $(ARGS)

vm-conformance: testsetup ## Run node conformance tests there; write their section of docs/conformance.md (an hour; ARGS to choose)
	@scripts/vm-image.sh
	@scripts/cluster-tools.sh --conformance kubelet
	@$(NODE) test/vm/judges/vm-conformance.ts $(ARGS)

cpu-decisions: setup ## Compare thousands of decisions of kubelet's CPU manager with ours, and record some for unit tests (needs Go)
	@test/managers/cpu/record.sh --write $(ARGS)

sim: setup ## Try to break the agent in 300 simulated worlds, then the simulator by mutations
	@$(NODE) test/sim/sim.ts --seeds 1-300
	@$(NODE) test/sim/sim.ts --mutations

fuzz: setup ## Feed mutated bytes to every parser of foreign bytes (ARGS="--target tar --seconds 60 --seed 1")
	@$(NODE) test/fuzz/fuzz.ts $(ARGS)

generate: ## Write the generated files anew
	@$(NODE) tools/generate.ts

generated:
	@$(NODE) tools/generate.ts --check

fmt: ## Format and apply safe fixes
	@$(BIOME) check --write .

dist: setup ## Make dist/nodelet.mjs (bundle), dist/nodelet (single executable), dist/library.mjs
	@$(NODE) tools/dist.ts

clean: ## Remove what setup and dist made in this checkout
	@rm -rf node_modules .tools dist
