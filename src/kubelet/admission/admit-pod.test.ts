import assert from 'node:assert/strict';
import test from 'node:test';
import type { Affinity, ContainerPort, NodeSelectorRequirement, Pod } from '../../api/generated/core-v1.ts';
import { amountsOf } from '../../api/pod-resources.ts';
import { examplePod, type PodChanges } from '../sync/config/pod.fixture.ts';
import { admitPod, type NodeView, type Verdict } from './admit-pod.ts';
import { unsafeSysctlFault } from './sysctl-allowlist.ts';

const node: NodeView = {
  nodeName: 'n1',
  labels: { 'kubernetes.io/os': 'linux', disk: 'ssd', cores: '8' },
  maxPods: 110,
  allocatable: amountsOf({ cpu: 2, memory: '1Gi' }),
  otherPods: [],
  host: { kernel: { major: 6, minor: 1 }, appArmorEnabled: false },
  supportsSupplementalGroupsPolicy: false,
};
const admit: Verdict = { kind: 'admit' };

function reject(reason: string, message: string): Verdict {
  return { kind: 'reject', reason, message };
}

function asking(requests: Record<string, string>): PodChanges {
  return { container: { resources: { requests } } };
}

function on(...ports: readonly ContainerPort[]): PodChanges {
  return { container: { ports } };
}

const others = (count: number): Pod[] => Array.from({ length: count }, () => examplePod());

const cases: Record<string, { given?: PodChanges; node?: Partial<NodeView>; verdict: Verdict }> = {
  'takes a plain pod': { verdict: admit },
  'refuses another operating system': {
    given: { spec: { os: { name: 'windows' } } },
    verdict: reject('PodOSNotSupported', "Failed to admit pod as the OS field doesn't match node OS"),
  },
  'refuses another operating system by label': {
    given: { metadata: { labels: { 'kubernetes.io/os': 'windows' } } },
    verdict: reject(
      'PodOSSelectorNodeLabelDoesNotMatch',
      "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
    ),
  },
  'takes a pod whose huge pages the node has': {
    given: asking({ 'hugepages-2Mi': '4Mi' }),
    node: { allocatable: amountsOf({ 'hugepages-2Mi': '4Mi' }) },
    verdict: admit,
  },
  'counts the huge pages of other pods': {
    given: asking({ 'hugepages-2Mi': '4Mi' }),
    node: {
      allocatable: amountsOf({ 'hugepages-2Mi': '6Mi' }),
      otherPods: [examplePod(asking({ 'hugepages-2Mi': '4Mi' }))],
    },
    verdict: reject(
      'OutOfhugepages-2Mi',
      "Node didn't have enough resource: hugepages-2Mi, requested: 4194304, used: 4194304, capacity: 6291456",
    ),
  },
  'refuses huge pages of a size that the node has none of': {
    given: asking({ 'hugepages-1Gi': '1Gi' }),
    verdict: reject(
      'OutOfhugepages-1Gi',
      "Node didn't have enough resource: hugepages-1Gi, requested: 1073741824, used: 0, capacity: 0",
    ),
  },
  'refuses what would be ignored, all of it': {
    given: {
      spec: { readinessGates: [{ conditionType: 'x' }], resourceClaims: [{ name: 'c' }] },
      container: { lifecycle: { stopSignal: 'SIGUSR1' } },
    },
    verdict: reject(
      'PodFeatureUnsupported',
      'spec.resourceClaims is not supported yet; ' +
        'spec.readinessGates[0] needs an API server, and this node has none; ' +
        'spec.containers[0].lifecycle.stopSignal needs the feature gate ContainerStopSignals, which is off',
    ),
  },
  'refuses a token where there is nobody to give it': {
    given: { spec: { volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } }] } },
    verdict: reject(
      'PodFeatureUnsupported',
      'spec.volumes[0].projected.sources[0].serviceAccountToken needs an API server, and this node has none',
    ),
  },
  'takes it where there is an API server': {
    given: { spec: { volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } }] } },
    node: { hasApiServer: true },
    verdict: admit,
  },
  'takes a pod whose readiness others decide on at the API server': {
    given: { spec: { readinessGates: [{ conditionType: 'x' }] } },
    node: { hasApiServer: true },
    verdict: admit,
  },
  'takes what a feature gate allows': {
    given: { container: { lifecycle: { stopSignal: 'SIGUSR1' } } },
    node: { gates: { containerStopSignals: true } },
    verdict: admit,
  },
  'takes the last place': { node: { otherPods: others(109) }, verdict: admit },
  'refuses one pod too many': {
    node: { otherPods: others(110) },
    verdict: reject('OutOfpods', "Node didn't have enough resource: pods, requested: 1, used: 110, capacity: 110"),
  },
  'refuses what the CPUs do not hold': {
    given: asking({ cpu: '1500m' }),
    node: { otherPods: [examplePod(asking({ cpu: '600m' }))] },
    verdict: reject('OutOfcpu', "Node didn't have enough resource: cpu, requested: 1500, used: 600, capacity: 2000"),
  },
  'refuses what the memory does not hold': {
    given: asking({ memory: '2Gi' }),
    verdict: reject(
      'OutOfmemory',
      "Node didn't have enough resource: memory, requested: 2147483648, used: 0, capacity: 1073741824",
    ),
  },
  'counts only what it knows the size of': { given: asking({ 'ephemeral-storage': '1Ti' }), verdict: admit },
  'refuses a pod for another node': {
    given: { spec: { nodeName: 'n2' } },
    verdict: reject('NodeName', "Predicate NodeName failed: node(s) didn't match the requested node name"),
  },
  'refuses a pod for another kind of node': {
    given: { spec: { nodeSelector: { disk: 'hdd' } } },
    verdict: reject('NodeAffinity', "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"),
  },
  'refuses a port of the host that is taken': {
    given: on({ containerPort: 80, hostPort: 8080, hostIP: '10.0.0.1' }),
    node: { otherPods: [examplePod(on({ containerPort: 90, hostPort: 8080, protocol: 'TCP' }))] },
    verdict: reject(
      'NodePorts',
      "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
    ),
  },
  'shares a port of the host among protocols and addresses': {
    given: on({ containerPort: 80, hostPort: 8080, hostIP: '10.0.0.1' }, { containerPort: 81 }),
    node: {
      otherPods: [
        examplePod(on({ containerPort: 80, hostPort: 8080, protocol: 'UDP' }, { containerPort: 81 })),
        examplePod(on({ containerPort: 80, hostPort: 8080, hostIP: '10.0.0.2' })),
      ],
    },
    verdict: admit,
  },
  'refuses a sysctl that would touch others': {
    given: { spec: { securityContext: { sysctls: [{ name: 'kernel/shmmax', value: '1' }] } } },
    verdict: reject('SysctlForbidden', 'forbidden sysctl: "kernel.shmmax" not allowlisted'),
  },
  'refuses a sysctl of the host’s own network': {
    given: {
      spec: { hostNetwork: true, securityContext: { sysctls: [{ name: 'net.ipv4.tcp_syncookies', value: '1' }] } },
    },
    verdict: reject('SysctlForbidden', 'forbidden sysctl: "net.ipv4.tcp_syncookies" not allowed with host Net enabled'),
  },
  'refuses a sysctl that an old kernel shares': {
    given: { spec: { securityContext: { sysctls: [{ name: 'net.ipv4.tcp_rmem', value: '1' }] } } },
    node: { host: { kernel: { major: 4, minor: 14 }, appArmorEnabled: false } },
    verdict: reject('SysctlForbidden', 'forbidden sysctl: "net.ipv4.tcp_rmem" not allowlisted'),
  },
  'takes a safe sysctl': {
    given: { spec: { securityContext: { sysctls: [{ name: 'net/ipv4/tcp_rmem', value: '1' }] } } },
    verdict: admit,
  },
  'refuses strict groups where the runtime has none': {
    given: { spec: { securityContext: { supplementalGroupsPolicy: 'Strict' } } },
    verdict: reject(
      'SupplementalGroupsPolicyNotSupported',
      'SupplementalGroupsPolicy=Strict is not supported in this node',
    ),
  },
  'refuses an AppArmor profile where there is no AppArmor': {
    given: { container: { securityContext: { appArmorProfile: { type: 'RuntimeDefault' } } } },
    verdict: reject('AppArmor', 'Cannot enforce AppArmor: AppArmor is not enabled on the host'),
  },
  'takes a sysctl that the owner of the node allows': {
    given: { spec: { securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '1' }] } } },
    node: { allowedUnsafeSysctls: ['kernel.msg*'] },
    verdict: admit,
  },
  'refuses an allowed sysctl of the host’s own IPC': {
    given: { spec: { hostIPC: true, securityContext: { sysctls: [{ name: 'fs.mqueue.msg_max', value: '1' }] } } },
    node: { allowedUnsafeSysctls: ['fs/mqueue/*'] },
    verdict: reject('SysctlForbidden', 'forbidden sysctl: "fs.mqueue.msg_max" not allowed with host IPC enabled'),
  },
  'refuses an AppArmor profile of the pod that no container has': {
    given: {
      spec: { securityContext: { appArmorProfile: { type: 'RuntimeDefault' } } },
      container: { securityContext: { appArmorProfile: { type: 'Unconfined' } } },
    },
    verdict: reject('AppArmor', 'Cannot enforce AppArmor: AppArmor is not enabled on the host'),
  },
  'refuses an AppArmor profile in an annotation that nobody understands': {
    given: { metadata: { annotations: { 'container.apparmor.security.beta.kubernetes.io/web': 'strict' } } },
    verdict: reject('AppArmor', 'Cannot enforce AppArmor: AppArmor is not enabled on the host'),
  },
  'refuses an AppArmor profile without a name': {
    given: { metadata: { annotations: { 'container.apparmor.security.beta.kubernetes.io/web': 'localhost/' } } },
    node: { host: { ...node.host, appArmorEnabled: true } },
    verdict: reject(
      'AppArmor',
      'Cannot enforce AppArmor: invalid empty AppArmor profile name: "&AppArmorProfile{Type:Localhost,LocalhostProfile:*,}"',
    ),
  },
  'takes an AppArmor profile where there is AppArmor': {
    given: { container: { securityContext: { appArmorProfile: { type: 'Localhost', localhostProfile: 'web' } } } },
    node: { host: { ...node.host, appArmorEnabled: true } },
    verdict: admit,
  },
  'takes who wants no AppArmor': {
    given: { container: { securityContext: { appArmorProfile: { type: 'Unconfined' } } } },
    verdict: admit,
  },
};

for (const [name, { given, node: changed, verdict }] of Object.entries(cases)) {
  test(`admitPod() ${name}`, () => {
    assert.deepEqual(admitPod(examplePod(given), { ...node, ...changed }), verdict);
  });
}

function requiring(...matchExpressions: readonly NodeSelectorRequirement[]): Affinity {
  return {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{}, { matchExpressions }] },
    },
  };
}

const affinities: Record<string, { affinity: Affinity; fits: boolean }> = {
  'one of the values': { affinity: requiring({ key: 'disk', operator: 'In', values: ['hdd', 'ssd'] }), fits: true },
  'none of the values': { affinity: requiring({ key: 'disk', operator: 'NotIn', values: ['ssd'] }), fits: false },
  'a label that is not there': { affinity: requiring({ key: 'gpu', operator: 'DoesNotExist' }), fits: true },
  'a label that is there': { affinity: requiring({ key: 'gpu', operator: 'Exists' }), fits: false },
  'more than a number': { affinity: requiring({ key: 'cores', operator: 'Gt', values: ['4'] }), fits: true },
  'less than a number': { affinity: requiring({ key: 'cores', operator: 'Lt', values: ['8'] }), fits: false },
  'a number of what is none': { affinity: requiring({ key: 'disk', operator: 'Gt', values: ['4'] }), fits: false },
  'all of a term': {
    affinity: requiring({ key: 'disk', operator: 'Exists' }, { key: 'gpu', operator: 'Exists' }),
    fits: false,
  },
  'a term without requirements': { affinity: requiring(), fits: false },
  'the node by its name': {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] }],
        },
      },
    },
    fits: true,
  },
};

for (const [what, { affinity, fits }] of Object.entries(affinities)) {
  test(`admitPod() understands node affinity: ${what}`, () => {
    assert.equal(admitPod(examplePod({ spec: { affinity } }), node).kind, fits ? 'admit' : 'reject');
  });
}

test('unsafeSysctlFault() knows what the kernel has for each namespace', () => {
  const known = ['kernel.shm*', 'kernel.sem', 'net.*', 'net/core/somaxconn', 'fs.mqueue.*'];
  assert.deepEqual(known.map(unsafeSysctlFault), Array(known.length).fill(undefined));
  assert.equal(unsafeSysctlFault('vm.swap*'), 'the sysctls "vm.swap" are not known to be namespaced');
  assert.equal(
    unsafeSysctlFault('net.**'),
    'sysctl "net.**" must have at most 253 characters and match regex ' +
      '([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]',
  );
});
