import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodSpec, PodStatus } from '../../api/generated/core-v1.ts';
import { podSummary } from './pod-summary.ts';

const status: PodStatus = { podIPs: [{ ip: '10.87.0.5' }] };
const web = { name: 'web', ports: [{ containerPort: 80 }] };

const cases: Record<string, { spec: PodSpec; status?: PodStatus; lines: string[] }> = {
  'is empty before the pod has an address': { spec: { containers: [web] }, status: {}, lines: [] },
  'shows an address and a port': {
    spec: { containers: [web] },
    lines: ['IP 10.87.0.5', 'curl http://10.87.0.5:80/'],
  },
  'shows each port once, those of sidecars too': {
    spec: {
      initContainers: [
        { name: 'prepare', ports: [{ containerPort: 1 }] },
        { name: 'proxy', restartPolicy: 'Always', ports: [{ containerPort: 8080 }] },
      ],
      containers: [web, { ...web, name: 'twin' }],
    },
    lines: ['IP 10.87.0.5', 'curl http://10.87.0.5:8080/', 'curl http://10.87.0.5:80/'],
  },
  'leaves out ports that curl cannot reach': {
    spec: { containers: [{ name: 'dns', ports: [{ containerPort: 53, protocol: 'UDP' }] }] },
    lines: ['IP 10.87.0.5'],
  },
  'puts an IPv6 address into brackets': {
    spec: { containers: [web] },
    status: { podIPs: [{ ip: 'fd00::5' }] },
    lines: ['IP fd00::5', 'curl http://[fd00::5]:80/'],
  },
};

for (const [name, given] of Object.entries(cases)) {
  test(`podSummary() ${name}`, () => {
    const pod: Pod = { metadata: { name: 'hello', namespace: 'default', uid: 'u' }, spec: given.spec };
    assert.deepEqual(podSummary(pod, given.status ?? status), given.lines);
  });
}
