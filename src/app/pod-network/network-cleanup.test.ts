import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { packagesForRemoval, removeNetwork, removeStaleMasquerade } from './network-cleanup.ts';

const never = new AbortController().signal;
const IPTABLES = { change: 'iptables', save: 'iptables-save', mayFail: false };
const SHARED = [
  '*nat',
  ':CNI-HOSTPORT-DNAT - [0:0]',
  '-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT',
  'COMMIT',
].join('\n');

test('removeNetwork() keeps the shared chains when another network starts to use them', async () => {
  const { fs, processes } = createMemoryHost();
  const changes: string[] = [];
  processes.install('iptables-save', async ({ stdout }) => {
    stdout(SHARED);
    return 0;
  });
  processes.install('iptables', async ({ args, stderr }) => {
    changes.push(args.slice(3).join(' '));
    if (!args.includes('-X')) return 0;
    stderr('iptables: Directory not empty.\n');
    return 1;
  });
  const parts = { fs, processes, bridge: 'nodelet0', ruleSets: [IPTABLES], hasNft: false };
  await removeNetwork(parts, { ownsHostPortChains: true, emptyChains: [] }, never);
  assert.deepEqual(changes, [
    '-D PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT',
    '-F CNI-HOSTPORT-DNAT',
    '-X CNI-HOSTPORT-DNAT',
  ]);
});

/** A machine whose programs print these rules, and record their changes. */
function machineWith(saved: Readonly<Record<string, string | undefined>>) {
  const { fs, processes } = createMemoryHost();
  const changes: string[] = [];
  for (const [program, text] of Object.entries(saved)) {
    processes.install(`${program}-save`, async ({ stdout, stderr }) => {
      if (text === undefined) stderr('the kernel has no such tables');
      else stdout(text);
      return text === undefined ? 1 : 0;
    });
    processes.install(program, async ({ args }) => {
      changes.push(`${program} ${args.slice(3).join(' ')}`);
      return 0;
    });
  }
  processes.install('nft', async ({ args, input, stdout }) => {
    if (args.includes('list')) stdout('table ip nat\ntable inet nodelet-nodelet0\n');
    changes.push(
      ...new TextDecoder()
        .decode(input)
        .split('\n')
        .filter((line) => /masquerade|delete/.test(line)),
    );
    return 0;
  });
  const ruleSets = Object.keys(saved).map((change) => ({
    ...{ change, save: `${change}-save`, mayFail: change !== 'iptables' },
  }));
  return { parts: { fs, processes, bridge: 'nodelet0', ruleSets, hasNft: true }, changes };
}

const masquerade = (cidr: string): string =>
  `-A POSTROUTING -s ${cidr} ! -o nodelet0 -m comment --comment "nodelet nodelet0" -j MASQUERADE`;
const removal = (cidr: string): string =>
  `-D POSTROUTING -s ${cidr} ! -o nodelet0 -m comment --comment nodelet nodelet0 -j MASQUERADE`;

test('removeNetwork() removes the rules of all programs, those from before a switch too', async () => {
  const { parts, changes } = machineWith({
    iptables: masquerade('10.1.0.0/16'),
    'iptables-legacy': masquerade('10.2.0.0/16'),
    'iptables-nft': undefined,
  });
  await removeNetwork(parts, { ownsHostPortChains: false, emptyChains: [] }, never);
  assert.deepEqual(changes, [
    'delete table inet nodelet-nodelet0',
    `iptables ${removal('10.1.0.0/16')}`,
    `iptables-legacy ${removal('10.2.0.0/16')}`,
  ]);
});

test('removeStaleMasquerade() keeps the ranges of running pods in every set of rules', async () => {
  const both = `${masquerade('10.1.0.0/16')}\n${masquerade('10.2.0.0/16')}`;
  const { parts, changes } = machineWith({ iptables: both, 'iptables-legacy': both });
  await removeStaleMasquerade(parts, ['10.1.0.0/16'], never);
  assert.deepEqual(changes, [
    `iptables ${removal('10.2.0.0/16')}`,
    `iptables-legacy ${removal('10.2.0.0/16')}`,
    'add rule inet nodelet-nodelet0 postrouting ip saddr 10.1.0.0/16 oifname != "nodelet0" masquerade',
  ]);
});

test('packagesForRemoval() names the packages of rules that no program of the machine can remove', () => {
  const rules = (ruleSets: readonly (typeof IPTABLES)[], hasNft: boolean) =>
    packagesForRemoval({ ruleSets, hasNft }, ['iptables', 'nftables']);
  assert.deepEqual(
    [rules([IPTABLES], true), rules([], true), rules([IPTABLES], false), rules([], false)],
    [[], ['iptables'], ['nftables'], ['iptables', 'nftables']],
  );
});
