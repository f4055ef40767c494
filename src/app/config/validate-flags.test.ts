import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_FLAGS, type KubeletFlags } from './kubelet-flags.ts';
import { validateFlags } from './validate-flags.ts';

const cases: Record<string, { flags: Partial<KubeletFlags>; expected: string[] }> = {
  'accepts the defaults': { flags: {}, expected: [] },
  'accepts labels of the owner and of nodes': {
    flags: {
      nodeLabels: {
        'example.com/a': 'b',
        plain: '',
        'kubernetes.io/hostname': 'n1',
        'x.node.kubernetes.io/y': 'z',
      },
    },
    expected: [],
  },
  'refuses labels that others give': {
    flags: { nodeLabels: { 'node-role.kubernetes.io/worker': '', 'app.k8s.io/x': '' } },
    expected: [
      "error unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [app.k8s.io/x node-role.kubernetes.io/worker]\n--node-labels in the 'kubernetes.io' namespace must begin with an allowed prefix (kubelet.kubernetes.io, node.kubernetes.io) or be in the specifically allowed set (beta.kubernetes.io/arch, beta.kubernetes.io/instance-type, beta.kubernetes.io/os, failure-domain.beta.kubernetes.io/region, failure-domain.beta.kubernetes.io/zone, kubernetes.io/arch, kubernetes.io/hostname, kubernetes.io/os, node.kubernetes.io/instance-type, topology.kubernetes.io/region, topology.kubernetes.io/zone)",
    ],
  },
  'refuses labels that are none': {
    flags: { nodeLabels: { '/a': 'b' } },
    expected: ["error invalid node labels: '/a' - prefix part must be non-empty"],
  },
  'refuses an age that cannot be': {
    flags: { minimumContainerTtlMs: -60_000 },
    expected: ['error invalid minimum garbage collection age: -1m0s'],
  },
  'refuses contention without a lock file': {
    flags: { exitOnLockContention: true },
    expected: ['error cannot exit on lock file contention: no lock file specified'],
  },
  'accepts contention with a lock file': { flags: { exitOnLockContention: true, lockFile: '/l' }, expected: [] },
  'accepts an address of each family': { flags: { nodeIp: '10.0.0.1, fd00::1' }, expected: [] },
  'warns of words that are no addresses': {
    flags: { nodeIp: 'eth0,10.0.0.1' },
    expected: ['warning Could not parse some node IP(s), ignoring them: eth0'],
  },
  'refuses two of a family': {
    flags: { nodeIp: '10.0.0.1,10.0.0.2' },
    expected: ['error bad --node-ip "10.0.0.1,10.0.0.2": must contain either a single IP or a dual-stack pair of IPs'],
  },
  'refuses a pair that says nothing': {
    flags: { nodeIp: '0.0.0.0,fd00::1' },
    expected: ["error bad --node-ip \"0.0.0.0,fd00::1\": dual-stack node IP cannot include '0.0.0.0' or '::'"],
  },
  'refuses a pair in a cloud of old': {
    flags: { nodeIp: '10.0.0.1,fd00::1', cloudProvider: 'gce' },
    expected: ['error bad --node-ip "10.0.0.1,fd00::1": dual-stack not supported in this configuration'],
  },
};

for (const [name, { flags, expected }] of Object.entries(cases)) {
  test(`validateFlags() ${name}`, () => {
    const diagnostics = validateFlags({ ...DEFAULT_FLAGS, ...flags });
    assert.deepEqual(
      diagnostics.map(({ severity, message }) => `${severity} ${message}`),
      expected,
    );
  });
}
