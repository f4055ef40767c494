import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type PortMapping, Protocol } from '../../cri/generated/runtime-v1.ts';
import { defaultBridgeConfig } from './default-bridge.ts';
import { CACHE_DIR, CniWorld } from './fake/cni-world.ts';
import { sandboxRules } from './nft-table.ts';

const signal = new AbortController().signal;
const LOCALNET = '/proc/sys/net/ipv4/conf/nodelet0/route_localnet';
const ADDRESSES = {
  interfaces: [{ name: 'eth0', sandbox: '/ns' }],
  ips: [
    { address: '10.88.0.2/16', interface: 0 },
    { address: 'fd00:88::2/64', interface: 0 },
  ],
};
const LISTED = `table inet nodelet-nodelet0 { # handle 3
	chain hostports { # handle 1
		meta nfproto ipv4 tcp dport 8080 dnat ip to 10.88.0.2:80 comment "s1" # handle 9
		meta nfproto ipv4 tcp dport 8081 dnat ip to 10.88.0.3:80 comment "s10" # handle 10
	}
	chain hostport_postrouting { # handle 6
		type nat hook postrouting priority srcnat; policy accept;
		ct status dnat ip saddr { 10.88.0.0/16, 127.0.0.0/8 } ip daddr 10.88.0.2 masquerade comment "s1" # handle 13
	}
}
`;

/** A machine with the network of `nodelet run` on nftables, and an `nft` that records its calls. */
async function nftWorld(listed: string | Error = LISTED, programs = ['nft', 'conntrack']) {
  const world = new CniWorld();
  const runs: { readonly call: string; readonly env: Readonly<Record<string, string>> }[] = [];
  const bridge = { bridge: 'nodelet0', podCidrs: ['10.88.0.0/16'], ipamDir: '/run/ipam' };
  await world.write('10-nodelet.conflist', defaultBridgeConfig({ ...bridge, backend: 'nftables' }));
  world.install('bridge');
  world.answers.set('bridge ADD', { stdout: JSON.stringify(ADDRESSES) });
  await world.host.fs.makeDirectory('/proc/sys/net/ipv4/conf/nodelet0');
  await world.host.fs.writeFile(LOCALNET, '0');
  for (const program of programs) {
    world.host.processes.install(program, async ({ args, env, input, stdout, stderr }) => {
      runs.push({ call: `${program} ${args.join(' ')}\n${new TextDecoder().decode(input)}`, env });
      if (!args.includes('list')) return 0;
      if (listed instanceof Error) stderr(listed.message);
      else stdout(listed);
      return listed instanceof Error ? 1 : 0;
    });
  }
  return { world, runs, calls: () => runs.splice(0).map(({ call }) => call) };
}

const port = (given: Partial<PortMapping>): PortMapping => ({
  ...{ protocol: Protocol.TCP, containerPort: 80, hostPort: 8080, hostIp: '' },
  ...given,
});

test('ADD of host ports is one transaction', async () => {
  const { world, runs, calls } = await nftWorld();
  const portMappings = [
    port({}),
    port({ protocol: Protocol.UDP, hostPort: 53, hostIp: '127.0.0.1' }),
    port({ protocol: Protocol.SCTP, hostPort: 9, hostIp: '::' }),
  ];
  const { ips } = await world.network().setUp(await world.pod({ portMappings }), signal);
  assert.deepEqual(ips, ['10.88.0.2', 'fd00:88::2']);
  assert.deepEqual(
    runs.map(({ env }) => [env['CNI_CONTAINERID'], env['CNI_COMMAND'], env['PATH']]),
    [
      ['s1', 'ADD', '/sbin'],
      ['s1', 'ADD', '/sbin'],
    ],
  );
  const [script = '', ...others] = calls();
  assert.equal(
    script,
    `nft --file -
add table inet nodelet-nodelet0
add chain inet nodelet-nodelet0 hostports
add chain inet nodelet-nodelet0 prerouting { type nat hook prerouting priority -100 ; policy accept ; }
flush chain inet nodelet-nodelet0 prerouting
add rule inet nodelet-nodelet0 prerouting fib daddr type local jump hostports
add chain inet nodelet-nodelet0 output { type nat hook output priority -100 ; policy accept ; }
flush chain inet nodelet-nodelet0 output
add rule inet nodelet-nodelet0 output fib daddr type local jump hostports
add chain inet nodelet-nodelet0 input { type filter hook input priority 0 ; policy accept ; }
flush chain inet nodelet-nodelet0 input
add rule inet nodelet-nodelet0 input iifname "nodelet0" ip daddr 127.0.0.0/8 ct state != { established, related } drop
add chain inet nodelet-nodelet0 hostport_postrouting { type nat hook postrouting priority 100 ; policy accept ; }
add rule inet nodelet-nodelet0 hostports meta nfproto ipv4 tcp dport 8080 dnat ip to 10.88.0.2:80 comment "s1"
add rule inet nodelet-nodelet0 hostports ip daddr 127.0.0.1 udp dport 53 dnat ip to 10.88.0.2:80 comment "s1"
add rule inet nodelet-nodelet0 hostports meta nfproto ipv6 tcp dport 8080 dnat ip6 to [fd00:88::2]:80 comment "s1"
add rule inet nodelet-nodelet0 hostports meta nfproto ipv6 sctp dport 9 dnat ip6 to [fd00:88::2]:80 comment "s1"
add rule inet nodelet-nodelet0 hostport_postrouting ct status dnat ip saddr { 127.0.0.0/8, 10.88.0.2/16 } ip daddr 10.88.0.2 masquerade comment "s1"
add rule inet nodelet-nodelet0 hostport_postrouting ct status dnat ip6 saddr fd00:88::2/64 ip6 daddr fd00:88::2 masquerade comment "s1"
`,
  );
  assert.deepEqual(others, ['conntrack --delete --proto udp --orig-port-dst 53\n']);
  assert.equal(await world.host.fs.readText(LOCALNET), '1');
});

test('a pod without host ports starts no program but the bridge plugin', async () => {
  const { world, calls } = await nftWorld();
  const network = world.network();
  const pod = await world.pod();
  await network.setUp(pod, signal);
  await network.check(pod, signal);
  await network.tearDown(pod, signal);
  assert.deepEqual([calls(), world.takeCalls()], [[], ['bridge ADD', 'bridge CHECK', 'bridge DEL']]);
});

test('DEL removes the rules of its sandbox alone, also after a restart', async () => {
  const { world, calls } = await nftWorld();
  const pod = await world.pod({ portMappings: [port({})] });
  await world.network().setUp(pod, signal);
  calls();
  await world.network().tearDown(pod, signal);
  assert.deepEqual(calls(), [
    'nft --handle --stateless list table inet nodelet-nodelet0\n',
    `nft --file -
delete rule inet nodelet-nodelet0 hostports handle 9
delete rule inet nodelet-nodelet0 hostport_postrouting handle 13
`,
  ]);
  assert.deepEqual(await world.host.fs.readDirectory(CACHE_DIR), []);
});

test('DEL succeeds if the table is gone, and fails if nft does', async () => {
  for (const [message, isGone] of [
    ['Error: No such file or directory\nlist table inet nodelet-nodelet0', true],
    ['Error: Operation not permitted', false],
  ] as const) {
    const { world } = await nftWorld(new Error(message));
    const network = world.network();
    const pod = await world.pod({ portMappings: [port({})] });
    await network.setUp(pod, signal);
    const error = `plugin type="nodelet-hostports" name="nodelet0" failed (delete): nft: ${message}`;
    if (isGone) await network.tearDown(pod, signal);
    else await assert.rejects(network.tearDown(pod, signal), { message: error });
  }
});

test('CHECK counts the rules', async () => {
  const { world } = await nftWorld();
  world.answers.set('bridge ADD', { stdout: JSON.stringify({ ips: [{ address: '10.88.0.2/16' }] }) });
  const network = world.network();
  const [pod, other] = [
    await world.pod({ portMappings: [port({})] }),
    await world.pod({ sandboxId: 's2', portMappings: [port({})] }),
  ];
  await network.setUp(pod, signal);
  await network.check(pod, signal);
  await network.setUp(other, signal);
  await assert.rejects(network.check(other, signal), { message: /2 of 2 host port rules are missing$/ });
});

test('an invalid host address does not get into a script', async () => {
  const { world, calls } = await nftWorld();
  const pod = await world.pod({ portMappings: [port({ hostIp: '1.2.3.4 drop' })] });
  await assert.rejects(world.network().setUp(pod, signal), {
    message: /portMappings\[0\]: invalid: .*1\.2\.3\.4 drop/,
  });
  assert.deepEqual(calls(), []);
});

test('a missing nft is named with its package', async () => {
  const { world } = await nftWorld(LISTED, []);
  const pod = await world.pod({ portMappings: [port({})] });
  await assert.rejects(world.network().setUp(pod, signal), {
    message:
      'plugin type="nodelet-hostports" name="nodelet0" failed (add): nft is not installed; install the package nftables',
  });
});

test('sandboxRules() ignores rules of other sandboxes and lines without a handle', () => {
  assert.deepEqual(sandboxRules(LISTED, 's10'), [{ chain: 'hostports', handle: '10' }]);
  assert.deepEqual(sandboxRules('chain a {\n comment "s1"\n}', 's1'), []);
});
