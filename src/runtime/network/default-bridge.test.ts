import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { defaultBridgeConfig, ensureMasquerade, removeMasquerade } from './default-bridge.ts';
import { parseNetworkList } from './network-config.ts';

const signal = new AbortController().signal;
const dualStack = { bridge: 'nodelet0', podCidrs: ['10.88.0.0/16', 'fd00:88::/64'], ipamDir: '/run/ipam' };

test('defaultBridgeConfig() is a valid configuration', () => {
  assert.deepEqual(parseNetworkList(JSON.parse(defaultBridgeConfig(dualStack))).network, {
    name: 'nodelet0',
    cniVersion: '1.0.0',
    disableCheck: false,
    disableGC: false,
    plugins: [
      {
        ...{ type: 'bridge', bridge: 'nodelet0', isGateway: true, ipMasq: false, hairpinMode: true },
        ipam: {
          type: 'host-local',
          dataDir: '/run/ipam',
          ranges: [[{ subnet: '10.88.0.0/16' }], [{ subnet: 'fd00:88::/64' }]],
          routes: [{ dst: '0.0.0.0/0' }, { dst: '::/0' }],
        },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  });
});

test('ensureMasquerade() adds a rule for each IP family once, removeMasquerade() removes them', async () => {
  const { processes } = createMemoryHost();
  const rules = new Set<string>();
  for (const program of ['iptables', 'ip6tables']) {
    processes.install(program, async ({ args, env }) => {
      assert.match(env['PATH'] ?? '', /(^|:)\/usr\/sbin(:|$)/, 'the PATH of a user may lack the sbin directories');
      const [verb, rule] = [args[3], `${program} ${args.slice(4).join(' ')}`];
      if (verb === '-A') rules.add(rule);
      else if (verb === '-D') return rules.delete(rule) ? 0 : 1;
      return rules.has(rule) ? 0 : 1;
    });
  }
  const expected = [
    'iptables POSTROUTING -s 10.88.0.0/16 ! -o nodelet0 -m comment --comment nodelet nodelet0 -j MASQUERADE',
    'ip6tables POSTROUTING -s fd00:88::/64 ! -o nodelet0 -m comment --comment nodelet nodelet0 -j MASQUERADE',
  ];
  await ensureMasquerade(processes, dualStack, signal);
  await ensureMasquerade(processes, dualStack, signal);
  assert.deepEqual([...rules], expected);
  await removeMasquerade(processes, dualStack, signal);
  await removeMasquerade(processes, dualStack, signal);
  assert.deepEqual([...rules], []);
});

test('ensureMasquerade() rejects with the error of iptables', async () => {
  const { processes } = createMemoryHost();
  processes.install('iptables', async ({ stderr }) => {
    stderr('no chain by that name\n');
    return 1;
  });
  await assert.rejects(ensureMasquerade(processes, { bridge: 'b0', podCidrs: ['10.0.0.0/8'] }, signal), {
    message: 'cannot masquerade 10.0.0.0/8: no chain by that name',
  });
});
