import assert from 'node:assert/strict';
import test from 'node:test';
import type { PodSpec } from '../../../api/generated/core-v1.ts';
import { kernelHostname, type PodHostname, podHostname } from './hostname.ts';
import { hostNetworkHostsFile, podHostsFile } from './hosts-file.ts';
import { examplePod } from './pod.fixture.ts';

const long = `${'a'.repeat(62)}-${'b'.repeat(10)}`;

const cases: Record<string, { name?: string; spec: Partial<PodSpec>; expected: PodHostname; kernel: string }> = {
  'is the pod’s name': { spec: {}, expected: { hostname: 'hello', domain: '' }, kernel: 'hello' },
  'is what the pod asks for': {
    spec: { hostname: 'h', subdomain: 'sub' },
    expected: { hostname: 'h', domain: 'sub.default.svc.cluster.local' },
    kernel: 'h',
  },
  'is full in the kernel where the pod asks for it': {
    spec: { subdomain: 'sub', setHostnameAsFQDN: true },
    expected: { hostname: 'hello', domain: 'sub.default.svc.cluster.local' },
    kernel: 'hello.sub.default.svc.cluster.local',
  },
  'is overridden without a domain': {
    spec: { hostnameOverride: 'any.name', subdomain: 'sub' },
    expected: { hostname: 'any.name', domain: '' },
    kernel: 'any.name',
  },
  'is cut to what the kernel holds, not at a dash': {
    name: long,
    spec: {},
    expected: { hostname: 'a'.repeat(62), domain: '' },
    kernel: 'a'.repeat(62),
  },
};

for (const [what, { name, spec, expected, kernel }] of Object.entries(cases)) {
  test(`podHostname() ${what}`, () => {
    const pod = examplePod({ spec, metadata: name === undefined ? {} : { name } });
    assert.deepEqual(podHostname(pod, 'cluster.local'), expected);
    assert.equal(kernelHostname(pod, 'cluster.local'), kernel);
  });
}

test('kernelHostname() rejects an FQDN that is too long', () => {
  const pod = examplePod({ spec: { subdomain: 's'.repeat(40), setHostnameAsFQDN: true } });
  assert.throws(() => kernelHostname(pod, 'cluster.local'), {
    message:
      `failed to construct FQDN from pod hostname and cluster domain, FQDN hello.${'s'.repeat(40)}.default.svc.` +
      'cluster.local is too long (64 characters is the max, 72 characters requested)',
  });
});

const hostAliases = [{ ip: '10.1.2.3', hostnames: ['foo.local', 'bar.local'] }];

test('podHostsFile() names the pod at each of its addresses, then its aliases', () => {
  const pod = examplePod({ spec: { subdomain: 'sub', hostAliases } });
  assert.equal(
    podHostsFile(pod, ['10.88.0.5', 'fd00::5'], 'cluster.local'),
    `# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
10.88.0.5\thello.sub.default.svc.cluster.local\thello
fd00::5\thello.sub.default.svc.cluster.local\thello

# Entries added by HostAliases.
10.1.2.3\tfoo.local\tbar.local
`,
  );
});

test('hostNetworkHostsFile() is the node’s with a header and the aliases', () => {
  const node = '127.0.0.1 localhost\n';
  assert.equal(
    hostNetworkHostsFile(examplePod({ spec: { hostNetwork: true, hostAliases } }), node),
    `# Kubernetes-managed hosts file (host network).\n${node}\n# Entries added by HostAliases.\n10.1.2.3\tfoo.local\tbar.local\n`,
  );
});
