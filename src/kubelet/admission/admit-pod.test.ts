import assert from 'node:assert/strict';
import test from 'node:test';
import type { Affinity, ContainerPort, NodeSelectorRequirement, Pod } from '../../api/generated/core-v1.ts';
import { amountsOf } from '../../api/pod-resources.ts';
import { examplePod, type PodChanges } from '../sync/config/pod.fixture.ts';
import { admitPod } from './admit-pod.ts';
import type { AdmissionView, PodRejection } from './pod-admit-handler.ts';
import { unsafeSysctlError } from './sysctl-handler.ts';

const node: AdmissionView = {
  nodeName: 'n1',
  labels: { 'kubernetes.io/os': 'linux', disk: 'ssd', cores: '8' },
  maxPods: 110,
  allocatable: amountsOf({ cpu: 2, memory: '1Gi' }),
  otherPods: [],
  host: { kernel: { major: 6, minor: 1 }, appArmorEnabled: false },
  supportsSupplementalGroupsPolicy: false,
};
const admit = undefined;

function reject(reason: string, message: string): PodRejection {
  return { reason, message };
}

function asking(requests: Record<string, string>): PodChanges {
  return { container: { resources: { requests } } };
}

function on(...ports: readonly ContainerPort[]): PodChanges {
  return { container: { ports } };
}

function rejectionOf(pod: Pod, view: AdmissionView): PodRejection | undefined {
  const decision = admitPod(pod, view);
  return decision.kind === 'rejected' ? decision.rejection : undefined;
}

const others = (count: number): Pod[] => Array.from({ length: count }, () => examplePod());

const cases: Record<
  string,
  { given?: PodChanges; node?: Partial<AdmissionView>; rejection: PodRejection | undefined }
> = {
  'admits a plain pod': { rejection: admit },
  'rejects another operating system': {
    given: { spec: { os: { name: 'windows' } } },
    rejection: reject('PodOSNotSupported', "Failed to admit pod as the OS field doesn't match node OS"),
  },
  'rejects another operating system by label': {
    given: { metadata: { labels: { 'kubernetes.io/os': 'windows' } } },
    rejection: reject(
      'PodOSSelectorNodeLabelDoesNotMatch',
      "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
    ),
  },
  'admits a pod whose huge pages the node has': {
    given: asking({ 'hugepages-2Mi': '4Mi' }),
    node: { allocatable: amountsOf({ 'hugepages-2Mi': '4Mi' }) },
    rejection: admit,
  },
  'counts the huge pages of other pods': {
    given: asking({ 'hugepages-2Mi': '4Mi' }),
    node: {
      allocatable: amountsOf({ 'hugepages-2Mi': '6Mi' }),
      otherPods: [examplePod(asking({ 'hugepages-2Mi': '4Mi' }))],
    },
    rejection: reject(
      'OutOfhugepages-2Mi',
      "Node didn't have enough resource: hugepages-2Mi, requested: 4194304, used: 4194304, capacity: 6291456",
    ),
  },
  'rejects huge pages of a size that the node does not have': {
    given: asking({ 'hugepages-1Gi': '1Gi' }),
    rejection: reject(
      'OutOfhugepages-1Gi',
      "Node didn't have enough resource: hugepages-1Gi, requested: 1073741824, used: 0, capacity: 0",
    ),
  },
  'rejects a pod with ignored fields, and lists all of them': {
    given: {
      spec: { readinessGates: [{ conditionType: 'x' }], resourceClaims: [{ name: 'c' }] },
      container: { lifecycle: { stopSignal: 'SIGUSR1' } },
    },
    rejection: reject(
      'PodFeatureUnsupported',
      'spec.readinessGates[0] needs an API server, and this node has none; ' +
        'spec.resourceClaims[0] needs an API server, and this node has none; ' +
        'spec.containers[0].lifecycle.stopSignal needs the feature gate ContainerStopSignals, which is off',
    ),
  },
  'rejects a service account token on a standalone node': {
    given: { spec: { volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } }] } },
    rejection: reject(
      'PodFeatureUnsupported',
      'spec.volumes[0].projected.sources[0].serviceAccountToken needs an API server, and this node has none',
    ),
  },
  'admits resource claims with an API server': {
    given: {
      spec: { resourceClaims: [{ name: 'c', resourceClaimName: 'gpu' }] },
      container: { resources: { claims: [{ name: 'c', request: 'big' }] } },
    },
    node: { hasApiServer: true },
    rejection: admit,
  },
  'admits a service account token with an API server': {
    given: { spec: { volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } }] } },
    node: { hasApiServer: true },
    rejection: admit,
  },
  'admits readiness gates with an API server': {
    given: { spec: { readinessGates: [{ conditionType: 'x' }] } },
    node: { hasApiServer: true },
    rejection: admit,
  },
  'admits a field whose feature gate is on': {
    given: { container: { lifecycle: { stopSignal: 'SIGUSR1' } } },
    node: { gates: { containerStopSignals: true } },
    rejection: admit,
  },
  'admits the last pod that fits': { node: { otherPods: others(109) }, rejection: admit },
  'rejects one pod too many': {
    node: { otherPods: others(110) },
    rejection: reject('OutOfpods', "Node didn't have enough resource: pods, requested: 1, used: 110, capacity: 110"),
  },
  'rejects a request for more CPU than is left': {
    given: asking({ cpu: '1500m' }),
    node: { otherPods: [examplePod(asking({ cpu: '600m' }))] },
    rejection: reject('OutOfcpu', "Node didn't have enough resource: cpu, requested: 1500, used: 600, capacity: 2000"),
  },
  'names the resource that a static pod lacks where no pod preempts another': {
    given: { ...asking({ cpu: '3' }), metadata: { annotations: { 'kubernetes.io/config.source': 'file' } } },
    node: { preempts: false },
    rejection: reject('OutOfcpu', "Node didn't have enough resource: cpu, requested: 3000, used: 0, capacity: 2000"),
  },
  'rejects a request for more memory than the node has': {
    given: asking({ memory: '2Gi' }),
    rejection: reject(
      'OutOfmemory',
      "Node didn't have enough resource: memory, requested: 2147483648, used: 0, capacity: 1073741824",
    ),
  },
  'ignores resources without a known capacity': { given: asking({ 'ephemeral-storage': '1Ti' }), rejection: admit },
  'counts the extended resources that the node has': {
    given: asking({ 'example.com/gpu': '2' }),
    node: {
      allocatable: amountsOf({ cpu: 2, 'example.com/gpu': 4 }),
      otherPods: [examplePod(asking({ 'example.com/gpu': '3' }))],
    },
    rejection: reject(
      'OutOfexample.com/gpu',
      "Node didn't have enough resource: example.com/gpu, requested: 2, used: 3, capacity: 4",
    ),
  },
  'does not count extended resources that the node does not have': {
    given: asking({ 'example.com/gpu': '2', cpu: '1' }),
    rejection: admit,
  },
  'rejects an unknown resource of Kubernetes': {
    given: asking({ 'kubernetes.io/batch-cpu': '1' }),
    rejection: reject(
      'OutOfkubernetes.io/batch-cpu',
      "Node didn't have enough resource: kubernetes.io/batch-cpu, requested: 1, used: 0, capacity: 0",
    ),
  },
  'rejects a request for more ephemeral storage than is left': {
    given: asking({ 'ephemeral-storage': '1Gi' }),
    node: { allocatable: amountsOf({ 'ephemeral-storage': '1Mi' }) },
    rejection: reject(
      'OutOfephemeral-storage',
      "Node didn't have enough resource: ephemeral-storage, requested: 1073741824, used: 0, capacity: 1048576",
    ),
  },
  'rejects a pod that does not tolerate a taint': {
    given: { spec: { tolerations: [{ key: 'dead', operator: 'Exists', effect: 'NoSchedule' }] } },
    node: { taints: [{ key: 'dead', effect: 'NoExecute' }] },
    rejection: reject(
      'TaintToleration',
      "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
    ),
  },
  'rejects an intolerant pod for a lack of resources first': {
    given: asking({ cpu: '3' }),
    node: { taints: [{ key: 'dead', effect: 'NoExecute' }] },
    rejection: reject('OutOfcpu', "Node didn't have enough resource: cpu, requested: 3000, used: 0, capacity: 2000"),
  },
  'admits a static pod whatever the taints': {
    given: { metadata: { annotations: { 'kubernetes.io/config.source': 'file' } } },
    node: { taints: [{ key: 'dead', effect: 'NoExecute' }] },
    rejection: admit,
  },
  'rejects a pod that requires a feature which the node does not declare': {
    given: { spec: { hostNetwork: true, hostUsers: false } },
    node: { declaredFeatures: ['RestartAllContainersOnContainerExits'] },
    rejection: reject(
      'PodFeatureUnsupported',
      'Pod requires node features that are not available: UserNamespacesHostNetworkSupport',
    ),
  },
  'rejects every pod during a shutdown': {
    node: { isShuttingDown: true },
    rejection: reject('NodeShutdown', 'Pod was rejected as the node is shutting down.'),
  },
  'rejects a pod for another node': {
    given: { spec: { nodeName: 'n2' } },
    rejection: reject('NodeName', "Predicate NodeName failed: node(s) didn't match the requested node name"),
  },
  'rejects a pod whose node selector does not match': {
    given: { spec: { nodeSelector: { disk: 'hdd' } } },
    rejection: reject(
      'NodeAffinity',
      "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    ),
  },
  'rejects a host port that is in use': {
    given: on({ containerPort: 80, hostPort: 8080, hostIP: '10.0.0.1' }),
    node: { otherPods: [examplePod(on({ containerPort: 90, hostPort: 8080, protocol: 'TCP' }))] },
    rejection: reject(
      'NodePorts',
      "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
    ),
  },
  'admits one host port with different protocols and addresses': {
    given: on({ containerPort: 80, hostPort: 8080, hostIP: '10.0.0.1' }, { containerPort: 81 }),
    node: {
      otherPods: [
        examplePod(on({ containerPort: 80, hostPort: 8080, protocol: 'UDP' }, { containerPort: 81 })),
        examplePod(on({ containerPort: 80, hostPort: 8080, hostIP: '10.0.0.2' })),
      ],
    },
    rejection: admit,
  },
  'rejects a sysctl that affects other pods': {
    given: { spec: { securityContext: { sysctls: [{ name: 'kernel/shmmax', value: '1' }] } } },
    rejection: reject('SysctlForbidden', 'forbidden sysctl: "kernel.shmmax" not allowlisted'),
  },
  'rejects a network sysctl with the host network': {
    given: {
      spec: { hostNetwork: true, securityContext: { sysctls: [{ name: 'net.ipv4.tcp_syncookies', value: '1' }] } },
    },
    rejection: reject(
      'SysctlForbidden',
      'forbidden sysctl: "net.ipv4.tcp_syncookies" not allowed with host Net enabled',
    ),
  },
  'rejects a sysctl that an old kernel does not namespace': {
    given: { spec: { securityContext: { sysctls: [{ name: 'net.ipv4.tcp_rmem', value: '1' }] } } },
    node: { host: { kernel: { major: 4, minor: 14 }, appArmorEnabled: false } },
    rejection: reject('SysctlForbidden', 'forbidden sysctl: "net.ipv4.tcp_rmem" not allowlisted'),
  },
  'admits a safe sysctl': {
    given: { spec: { securityContext: { sysctls: [{ name: 'net/ipv4/tcp_rmem', value: '1' }] } } },
    rejection: admit,
  },
  'rejects strict supplemental groups without runtime support': {
    given: { spec: { securityContext: { supplementalGroupsPolicy: 'Strict' } } },
    rejection: reject(
      'SupplementalGroupsPolicyNotSupported',
      'SupplementalGroupsPolicy=Strict is not supported in this node',
    ),
  },
  'rejects an AppArmor profile on a host without AppArmor': {
    given: { container: { securityContext: { appArmorProfile: { type: 'RuntimeDefault' } } } },
    rejection: reject('AppArmor', 'Cannot enforce AppArmor: AppArmor is not enabled on the host'),
  },
  'admits an unsafe sysctl that the node allows': {
    given: { spec: { securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '1' }] } } },
    node: { allowedUnsafeSysctls: ['kernel.msg*'] },
    rejection: admit,
  },
  'rejects an allowed IPC sysctl with the host IPC namespace': {
    given: { spec: { hostIPC: true, securityContext: { sysctls: [{ name: 'fs.mqueue.msg_max', value: '1' }] } } },
    node: { allowedUnsafeSysctls: ['fs/mqueue/*'] },
    rejection: reject('SysctlForbidden', 'forbidden sysctl: "fs.mqueue.msg_max" not allowed with host IPC enabled'),
  },
  'rejects an AppArmor profile of the pod that every container overrides': {
    given: {
      spec: { securityContext: { appArmorProfile: { type: 'RuntimeDefault' } } },
      container: { securityContext: { appArmorProfile: { type: 'Unconfined' } } },
    },
    rejection: reject('AppArmor', 'Cannot enforce AppArmor: AppArmor is not enabled on the host'),
  },
  'rejects an AppArmor annotation with an unknown value': {
    given: { metadata: { annotations: { 'container.apparmor.security.beta.kubernetes.io/web': 'strict' } } },
    rejection: reject('AppArmor', 'Cannot enforce AppArmor: AppArmor is not enabled on the host'),
  },
  'rejects an AppArmor profile without a name': {
    given: { metadata: { annotations: { 'container.apparmor.security.beta.kubernetes.io/web': 'localhost/' } } },
    node: { host: { ...node.host, appArmorEnabled: true } },
    rejection: reject(
      'AppArmor',
      'Cannot enforce AppArmor: invalid empty AppArmor profile name: "&AppArmorProfile{Type:Localhost,LocalhostProfile:*,}"',
    ),
  },
  'admits an AppArmor profile on a host with AppArmor': {
    given: { container: { securityContext: { appArmorProfile: { type: 'Localhost', localhostProfile: 'web' } } } },
    node: { host: { ...node.host, appArmorEnabled: true } },
    rejection: admit,
  },
  'admits an unconfined pod on a host without AppArmor': {
    given: { container: { securityContext: { appArmorProfile: { type: 'Unconfined' } } } },
    rejection: admit,
  },
};

for (const [name, { given, node: changed, rejection }] of Object.entries(cases)) {
  test(`admitPod() ${name}`, () => {
    assert.deepEqual(rejectionOf(examplePod(given), { ...node, ...changed }), rejection);
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
  'a number, of a label without one': {
    affinity: requiring({ key: 'disk', operator: 'Gt', values: ['4'] }),
    fits: false,
  },
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
  test(`admitPod() evaluates node affinity: ${what}`, () => {
    assert.equal(rejectionOf(examplePod({ spec: { affinity } }), node) === undefined, fits);
  });
}

test('admitPod() admits extended resources that a claim provides', () => {
  const resources = { requests: { 'example.com/gpu': 1 }, limits: { 'example.com/gpu': 1 } };
  const pod = examplePod({ container: { resources } });
  const requestMappings = [
    { containerName: 'web', resourceName: 'example.com/gpu', requestName: 'container-0-request-0' },
  ];
  const status = { extendedResourceClaimStatus: { resourceClaimName: 'hello-gpus', requestMappings } };
  assert.equal(rejectionOf({ ...pod, status }, node), admit);
});

test('admitPod() does not check the AppArmor profile of a pod that runs', () => {
  const pod = examplePod({ container: { securityContext: { appArmorProfile: { type: 'RuntimeDefault' } } } });
  assert.equal(rejectionOf({ ...pod, status: { phase: 'Running' } }, node), admit);
  assert.equal(rejectionOf({ ...pod, status: { phase: 'Pending' } }, node)?.reason, 'AppArmor');
});

test('unsafeSysctlError() accepts only namespaced sysctls', () => {
  const known = ['kernel.shm*', 'kernel.sem', 'net.*', 'net/core/somaxconn', 'fs.mqueue.*'];
  assert.deepEqual(known.map(unsafeSysctlError), Array(known.length).fill(undefined));
  assert.equal(unsafeSysctlError('vm.swap*'), 'the sysctls "vm.swap" are not known to be namespaced');
  assert.equal(
    unsafeSysctlError('net.**'),
    'sysctl "net.**" must have at most 253 characters and match regex ' +
      '([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]',
  );
});
