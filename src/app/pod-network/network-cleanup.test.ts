import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { removeNetwork } from './network-cleanup.ts';

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
