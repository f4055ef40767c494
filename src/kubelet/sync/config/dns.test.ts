import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import type { PodSpec } from '../../../api/generated/core-v1.ts';
import { type DnsSettings, type DnsWarning, parseResolvConf, podDns } from './dns.ts';
import { examplePod } from './pod.fixture.ts';

const node: DnsSettings = {
  clusterDns: ['10.0.0.10'],
  clusterDomain: 'cluster.local',
  resolvConf: '/etc/resolv.conf',
  hostIPs: ['192.0.2.1'],
};
const resolvConf = 'nameserver 9.9.9.9\nsearch example.com\noptions timeout:1\n';
const ofHost = { servers: ['9.9.9.9'], searches: ['example.com'], options: ['timeout:1'] };
const ofCluster = {
  servers: ['10.0.0.10'],
  searches: ['default.svc.cluster.local', 'svc.cluster.local', 'cluster.local', 'example.com'],
  options: ['ndots:5'],
};
const missingClusterDns: DnsWarning = {
  reason: 'MissingClusterDNS',
  message:
    'pod: "hello_default(u1)". kubelet does not have ClusterDNS IP configured and cannot create Pod using ' +
    '"ClusterFirst" policy. Falling back to "Default" policy.',
  nodeMessage:
    'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. ' +
    'Falling back to "Default" policy.',
};

interface Case {
  readonly spec?: Partial<PodSpec>;
  readonly settings?: Partial<DnsSettings>;
  readonly config: { servers: string[]; searches: string[]; options: string[] };
  readonly warnings?: readonly DnsWarning[];
}

const cases: Record<string, Case> = {
  'uses the cluster DNS first': { config: ofCluster },
  'uses the node’s resolver with policy Default': { spec: { dnsPolicy: 'Default' }, config: ofHost },
  'uses the node’s resolver on the host network': { spec: { hostNetwork: true }, config: ofHost },
  'uses the cluster DNS on the host network if the policy says so': {
    spec: { hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet' },
    config: ofCluster,
  },
  'falls back with a warning without cluster DNS': {
    settings: { clusterDns: [] },
    config: ofHost,
    warnings: [missingClusterDns],
  },
  'adds no cluster domain when it is empty': {
    settings: { clusterDomain: '' },
    config: { ...ofCluster, searches: ['example.com'] },
  },
  'uses loopback when pods do not use the node’s resolver': {
    spec: { dnsPolicy: 'Default' },
    settings: { resolvConf: '', hostIPs: ['192.0.2.1', '2001:db8::1'] },
    config: { servers: ['127.0.0.1', '::1'], searches: ['.'], options: ['timeout:1'] },
  },
  'starts empty with policy None': {
    spec: { dnsPolicy: 'None', dnsConfig: { nameservers: ['1.1.1.1'], options: [{ name: 'debug' }] } },
    config: { servers: ['1.1.1.1'], searches: [], options: ['debug'] },
  },
  'prefers the pod’s options, and removes duplicates': {
    spec: {
      dnsConfig: {
        nameservers: ['10.0.0.10', '1.1.1.1'],
        searches: ['cluster.local', 'own.example'],
        options: [{ name: 'ndots', value: '2' }, { name: 'edns0' }],
      },
    },
    config: {
      servers: ['10.0.0.10', '1.1.1.1'],
      searches: [...ofCluster.searches, 'own.example'],
      options: ['ndots:2', 'edns0'],
    },
  },
  'keeps three name servers': {
    spec: { dnsPolicy: 'None', dnsConfig: { nameservers: ['1.1.1.1', '1.1.1.2', '1.1.1.3', '1.1.1.4'] } },
    config: { servers: ['1.1.1.1', '1.1.1.2', '1.1.1.3'], searches: [], options: [] },
    warnings: [
      {
        reason: 'DNSConfigForming',
        message:
          'Nameserver limits were exceeded, some nameservers have been omitted, ' +
          'the applied nameserver line is: 1.1.1.1 1.1.1.2 1.1.1.3',
      },
    ],
  },
  'leaves out a search path that would make glibc abort': {
    spec: { dnsPolicy: 'None', dnsConfig: { nameservers: ['1.1.1.1'], searches: ['a', 'b'.repeat(254), 'c'] } },
    config: { servers: ['1.1.1.1'], searches: ['a', 'c'], options: [] },
    warnings: [
      {
        reason: 'DNSConfigForming',
        message:
          'Search Line limits were exceeded, some search paths have been omitted, the applied search line is: a c',
      },
    ],
  },
};

for (const [name, { spec, settings, config, warnings = [] }] of Object.entries(cases)) {
  test(`podDns() ${name}`, () => {
    const pod = spec ? examplePod({ spec }) : examplePod();
    assert.deepEqual(podDns(pod, { ...node, ...settings }, resolvConf), { config, warnings });
  });
}

test('parseResolvConf() reads all servers, the last search line and the last value of an option', () => {
  const text = [
    '# a comment',
    'nameserver 1.1.1.1',
    '  nameserver\t1.0.0.1  # kept by no resolver',
    'search old.example',
    'search a.example. . b.example',
    'options ndots:1 rotate',
    'options ndots:3',
    'sortlist 1.2.3.4',
  ].join('\n');
  assert.deepEqual(parseResolvConf(text), {
    servers: ['1.1.1.1', '1.0.0.1'],
    searches: ['a.example', 'b.example'],
    options: ['ndots:3', 'rotate'],
  });
});

test('parseResolvConf() rejects a name server without an address', () => {
  assert.throws(() => parseResolvConf('nameserver\n'), /nameserver list is empty/);
});

test('podDns() always keeps to the limits of resolvers', () => {
  const searches = fc.array(fc.string({ unit: fc.constantFrom('a', '.', 'b'), minLength: 1, maxLength: 300 }), {
    maxLength: 50,
  });
  fc.assert(
    fc.property(searches, (paths) => {
      const spec = { dnsPolicy: 'None', dnsConfig: { nameservers: ['1.1.1.1'], searches: paths } };
      const { config } = podDns(examplePod({ spec }), node, '');
      assert.ok(config.searches.length <= 32);
      assert.ok(config.searches.join(' ').length <= 2048);
      assert.ok(config.searches.every((path) => path.length <= 253 && paths.includes(path)));
    }),
    { numRuns: 50 },
  );
});
