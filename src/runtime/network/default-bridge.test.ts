import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { defaultBridgeConfig, ensureMasquerade, removeTable, unavailableConfig } from './default-bridge.ts';
import { CniWorld } from './fake/cni-world.ts';
import { parseNetworkList } from './network-config.ts';

const signal = new AbortController().signal;
const dualStack = { bridge: 'nodelet0', podCidrs: ['10.88.0.0/16', 'fd00:88::/64'], ipamDir: '/run/ipam' };

const BRIDGE_PLUGIN = {
  ...{ type: 'bridge', bridge: 'nodelet0', isGateway: true, ipMasq: false, hairpinMode: true },
  ipam: {
    type: 'host-local',
    dataDir: '/run/ipam',
    ranges: [[{ subnet: '10.88.0.0/16' }], [{ subnet: 'fd00:88::/64' }]],
    routes: [{ dst: '0.0.0.0/0' }, { dst: '::/0' }],
  },
};
const HOST_PORTS = {
  iptables: { type: 'portmap', capabilities: { portMappings: true } },
  nftables: { type: 'nodelet-hostports', bridge: 'nodelet0', capabilities: { portMappings: true } },
};

for (const backend of ['iptables', 'nftables'] as const) {
  test(`defaultBridgeConfig() is a valid configuration, with ${backend}`, () => {
    assert.deepEqual(parseNetworkList(JSON.parse(defaultBridgeConfig({ ...dualStack, backend }))).network, {
      name: 'nodelet0',
      cniVersion: '1.0.0',
      disableCheck: false,
      disableGC: false,
      plugins: [BRIDGE_PLUGIN, HOST_PORTS[backend]],
    });
  });
}

test('ensureMasquerade() adds a rule for each IP family once', async () => {
  const { processes } = createMemoryHost();
  const rules: string[] = [];
  for (const program of ['iptables', 'ip6tables']) {
    processes.install(program, async ({ args, env }) => {
      assert.match(env['PATH'] ?? '', /(^|:)\/usr\/sbin(:|$)/, 'the PATH of a user may lack the sbin directories');
      const [verb, rule] = [args[3], `${program} ${args.slice(4).join(' ')}`];
      if (verb === '-A') rules.push(rule);
      return rules.includes(rule) ? 0 : 1;
    });
  }
  await ensureMasquerade(processes, { ...dualStack, backend: 'iptables' }, signal);
  await ensureMasquerade(processes, { ...dualStack, backend: 'iptables' }, signal);
  assert.deepEqual(rules, [
    'iptables POSTROUTING -s 10.88.0.0/16 ! -o nodelet0 -m comment --comment nodelet nodelet0 -j MASQUERADE',
    'ip6tables POSTROUTING -s fd00:88::/64 ! -o nodelet0 -m comment --comment nodelet nodelet0 -j MASQUERADE',
  ]);
});

test('ensureMasquerade() and removeTable() are one transaction each with nftables', async () => {
  const { processes } = createMemoryHost();
  const scripts: string[] = [];
  processes.install('nft', async ({ args, input }) => {
    scripts.push(`${args.join(' ')}\n${new TextDecoder().decode(input)}`);
    return 0;
  });
  await ensureMasquerade(processes, { ...dualStack, backend: 'nftables' }, signal);
  await removeTable(processes, 'nodelet0', signal);
  assert.deepEqual(scripts, [
    `--file -
add table inet nodelet-nodelet0
add chain inet nodelet-nodelet0 postrouting { type nat hook postrouting priority 100 ; policy accept ; }
flush chain inet nodelet-nodelet0 postrouting
add rule inet nodelet-nodelet0 postrouting ip saddr 10.88.0.0/16 oifname != "nodelet0" masquerade
add rule inet nodelet-nodelet0 postrouting ip6 saddr fd00:88::/64 oifname != "nodelet0" masquerade
`,
    `--file -
add table inet nodelet-nodelet0
delete table inet nodelet-nodelet0
`,
  ]);
});

for (const [backend, program] of [
  ['iptables', 'iptables'],
  ['nftables', 'nft'],
] as const) {
  test(`ensureMasquerade() rejects with the error of ${program}`, async () => {
    const { processes } = createMemoryHost();
    processes.install(program, async ({ stderr }) => {
      stderr('no chain by that name\n');
      return 1;
    });
    await assert.rejects(ensureMasquerade(processes, { backend, bridge: 'b0', podCidrs: ['10.0.0.0/8'] }, signal), {
      message: 'cannot masquerade 10.0.0.0/8: no chain by that name',
    });
  });
}

test('a network without NAT is not ready and says why, from its first status on', async () => {
  const world = new CniWorld();
  await world.write('10-nodelet.conflist', unavailableConfig('nodelet0', 'install the package nftables'));
  const network = world.network();
  await network.refresh();
  assert.equal(network.status().ready, false);
  await world.host.clock.advance(1);
  const error = (verb: string) =>
    `plugin type="nodelet-unavailable" name="nodelet0" failed (${verb}): install the package nftables`;
  assert.deepEqual(network.status(), {
    ready: false,
    reason: 'NetworkPluginNotReady',
    message: `Network plugin returns error: ${error('status')}`,
  });
  const pod = await world.pod();
  await assert.rejects(network.setUp(pod, signal), { message: error('add') });
  await network.tearDown(pod, signal);
  await network.collectGarbage(new Set(), signal);
});
