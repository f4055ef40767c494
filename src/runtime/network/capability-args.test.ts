import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Protocol } from '../../cri/generated/runtime-v1.ts';
import { buildRuntimeConfig, capabilityArgs } from './capability-args.ts';
import { POD } from './fake/cni-world.ts';
import type { NetworkedPod } from './pod-network.ts';

const annotations = 'io.kubernetes.cri.pod-annotations';

const cases: Record<string, { given: Partial<NetworkedPod>; podCidr?: string; args: object }> = {
  'only annotations for a plain pod': { given: {}, args: { [annotations]: {} } },
  'host ports, and only those': {
    given: {
      portMappings: [
        { protocol: Protocol.TCP, containerPort: 80, hostPort: 8080, hostIp: '' },
        { protocol: Protocol.UDP, containerPort: 53, hostPort: 53, hostIp: '127.0.0.1' },
        { protocol: Protocol.SCTP, containerPort: 9, hostPort: 9, hostIp: '' },
        { protocol: Protocol.TCP, containerPort: 443, hostPort: 0, hostIp: '' },
      ],
    },
    args: {
      [annotations]: {},
      portMappings: [
        { hostPort: 8080, containerPort: 80, protocol: 'tcp' },
        { hostPort: 53, containerPort: 53, protocol: 'udp', hostIP: '127.0.0.1' },
        { hostPort: 9, containerPort: 9, protocol: 'sctp' },
      ],
    },
  },
  'bandwidth in bits': {
    given: { annotations: { 'kubernetes.io/ingress-bandwidth': '10M' } },
    args: {
      [annotations]: { 'kubernetes.io/ingress-bandwidth': '10M' },
      bandwidth: { ingressRate: 10_000_000, ingressBurst: 4_294_967_295 },
    },
  },
  'name servers and cgroup': {
    given: { dns: { servers: ['10.0.0.10'], searches: [], options: ['ndots:5'] }, cgroupParent: '/kubepods/pod1' },
    args: {
      [annotations]: {},
      dns: { servers: ['10.0.0.10'], searches: [], options: ['ndots:5'] },
      cgroupPath: '/kubepods/pod1',
    },
  },
  'a range for each family': {
    given: {},
    podCidr: '10.1.0.0/24, fd00::/64',
    args: { [annotations]: {}, ipRanges: [[{ subnet: '10.1.0.0/24' }], [{ subnet: 'fd00::/64' }]] },
  },
};
for (const [name, { given, podCidr, args }] of Object.entries(cases)) {
  test(`capabilityArgs() has ${name}`, () => {
    assert.deepEqual(capabilityArgs({ ...POD, ...given }, podCidr), args);
  });
}

for (const [text, message] of [
  ['10', 'resource is unreasonably small (< 1kbit)'],
  ['2P', 'resource is unreasonably large (> 1Pbit)'],
  ['fast', "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"],
] as const) {
  test(`capabilityArgs() rejects a bandwidth of ${text}`, () => {
    const given = { ...POD, annotations: { 'kubernetes.io/egress-bandwidth': text } };
    assert.throws(() => capabilityArgs(given, undefined), {
      message: `reading pod bandwidth annotations: kubernetes.io/egress-bandwidth: ${message}`,
    });
  });
}

test('buildRuntimeConfig() gives a plugin what it declares and the pod has', () => {
  const args = { portMappings: [1], dns: {} };
  const plugin = (capabilities: object) => ({ type: 'x', capabilities });
  assert.deepEqual(buildRuntimeConfig(plugin({ portMappings: true, dns: false, ips: true }), args), {
    portMappings: [1],
  });
  assert.equal(buildRuntimeConfig(plugin({ ips: true }), args), undefined);
  assert.equal(buildRuntimeConfig({ type: 'x' }, args), undefined);
});
