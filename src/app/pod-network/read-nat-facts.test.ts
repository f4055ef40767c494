import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost, type MemoryHost } from '../../host/fake/memory-host.ts';
import { readNatFacts } from './read-nat-facts.ts';

const never = new AbortController().signal;

/** A machine with these programs. The value of a program is its error; none: it works. */
async function machineWith(programs: Readonly<Record<string, string | undefined>>): Promise<MemoryHost> {
  const host = createMemoryHost();
  await host.fs.makeDirectory('/usr/sbin');
  await host.fs.makeDirectory('/opt/cni/bin');
  for (const [name, error] of Object.entries(programs)) {
    await host.fs.writeFile(name === 'portmap' ? '/opt/cni/bin/portmap' : `/usr/sbin/${name}`, '');
    host.processes.install(name, async ({ args, stdout, stderr }) => {
      if (args.includes('--version')) stdout('iptables v1.8.9 (nf_tables)\n');
      else if (error !== undefined) stderr(`${error}\nmore lines\n`);
      return error === undefined || args.includes('--version') ? 0 : 1;
    });
  }
  return host;
}

async function factsOf({ fs, processes }: MemoryHost) {
  const cniBinDirs = ['/usr/lib/cni', '/opt/cni/bin'];
  return readNatFacts({ fs, processes, bridge: 'nodelet0', podCidr: '10.88.0.0/16', cniBinDirs }, never);
}

const IPTABLES = { change: 'iptables', save: 'iptables-save', mayFail: false };

test('readNatFacts(): a machine with everything', async () => {
  const programs = ['iptables', 'iptables-save', 'nft', 'portmap', 'iptables-legacy', 'iptables-legacy-save'];
  const host = await machineWith(Object.fromEntries(programs.map((name) => [name, undefined])));
  const usable = { state: 'usable' };
  const facts = { iptables: usable, nft: usable, hasPortmap: true };
  assert.deepEqual(await factsOf(host), { facts, ruleSets: [IPTABLES] });
  await host.fs.makeDirectory('/proc/net');
  await host.fs.writeFile('/proc/net/ip_tables_names', 'nat\n');
  const legacy = { change: 'iptables-legacy', save: 'iptables-legacy-save', mayFail: true };
  assert.deepEqual(await factsOf(host), { facts, ruleSets: [IPTABLES, legacy] });
});

test('readNatFacts(): programs that the kernel rejects, with the first line of their errors', async () => {
  const host = await machineWith({ iptables: 'no table', 'iptables-save': undefined, nft: 'not supported' });
  assert.deepEqual(await factsOf(host), {
    facts: {
      iptables: { state: 'failing', error: 'no table' },
      nft: { state: 'failing', error: 'not supported' },
      hasPortmap: false,
    },
    ruleSets: [],
  });
});

test('readNatFacts(): a machine with nothing starts no program', async () => {
  const missing = { state: 'missing' };
  assert.deepEqual(await factsOf(await machineWith({})), {
    facts: { iptables: missing, nft: missing, hasPortmap: false },
    ruleSets: [],
  });
});
