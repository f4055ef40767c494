import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import type { ProgramContext } from '../../host/fake/memory-process.ts';
import { keepUtilChains } from './keep-util-chains.ts';

/** The tables of one family: chain → rules. */
class FakeTables {
  readonly chains = new Map<string, string[]>([
    ['filter INPUT', []],
    ['filter OUTPUT', []],
    ['nat POSTROUTING', []],
  ]);
  readonly calls: string[] = [];
  failWith: number | undefined;

  run({ args }: ProgramContext): number {
    const [, , operation = '', chain = '', , table = '', ...rule] = args;
    this.calls.push(`${operation} ${table} ${chain}`);
    if (this.failWith !== undefined) return this.failWith;
    const name = `${table} ${chain}`;
    const rules = this.chains.get(name);
    if (operation === '-N') {
      if (!rules) this.chains.set(name, []);
      return rules ? 1 : 0;
    }
    if (!rules) return 1;
    if (operation === '-C') return rules.includes(rule.join(' ')) ? 0 : 1;
    if (operation === '-I') rules.unshift(rule.join(' '));
    if (operation === '-A') rules.push(rule.join(' '));
    return 0;
  }

  flush(): void {
    for (const [name, rules] of this.chains) {
      if (name.includes('KUBE-')) this.chains.delete(name);
      else rules.length = 0;
    }
  }
}

function machine(programs: readonly string[] = ['iptables', 'ip6tables']) {
  const { processes, clock } = createMemoryHost();
  const tables = { iptables: new FakeTables(), ip6tables: new FakeTables() };
  for (const name of ['iptables', 'ip6tables'] as const) {
    if (programs.includes(name)) processes.install(name, async (context) => tables[name].run(context));
  }
  const logged: string[] = [];
  const note = (message: string): void => void logged.push(message);
  const life = new AbortController();
  const running = keepUtilChains({ processes, clock, log: { info: note, error: note } }, life.signal);
  const stop = async (): Promise<void> => {
    life.abort(new Error('over'));
    await running;
  };
  return { v4: tables.iptables, v6: tables.ip6tables, clock, logged, running, stop };
}

const LOCALNET =
  '-m comment --comment block incoming localnet connections --dst 127.0.0.0/8 ! --src 127.0.0.0/8 ' +
  '-m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP';
const V4 = {
  'filter INPUT': ['-j KUBE-FIREWALL'],
  'filter OUTPUT': ['-j KUBE-FIREWALL'],
  'nat POSTROUTING': [],
  'mangle KUBE-IPTABLES-HINT': [],
  'filter KUBE-FIREWALL': [LOCALNET],
  'mangle KUBE-KUBELET-CANARY': [],
  'nat KUBE-KUBELET-CANARY': [],
  'filter KUBE-KUBELET-CANARY': [],
};

test('creates kubelet’s chains of both families, and restores them after a flush', async () => {
  const { v4, v6, clock, logged, stop } = machine();
  await clock.advance(1_000);
  assert.deepEqual(Object.fromEntries(v4.chains), V4);
  const ipv6 = ['mangle KUBE-IPTABLES-HINT', 'mangle KUBE-KUBELET-CANARY'];
  assert.deepEqual(
    [...v6.chains.keys()].filter((name) => name.startsWith('mangle')),
    ipv6,
  );
  assert.equal(v6.chains.has('filter KUBE-FIREWALL'), false);

  v4.flush();
  await clock.advance(61_000);
  assert.deepEqual(Object.fromEntries(v4.chains), V4);
  assert.deepEqual(logged, [
    'Initialized iptables rules.',
    'Initialized iptables rules.',
    'Reloading after iptables flush',
  ]);
  await stop();
});

test('unchanged tables cost one call a minute', async () => {
  const { v4, clock, stop } = machine();
  await clock.advance(1_000);
  v4.calls.length = 0;
  await clock.advance(120_000);
  assert.deepEqual(v4.calls, ['-S mangle KUBE-KUBELET-CANARY', '-S mangle KUBE-KUBELET-CANARY']);
  await stop();
});

test('a table that is not flushed does not prevent the restoration for long', async () => {
  const { v4, clock, logged, stop } = machine();
  await clock.advance(1_000);
  v4.chains.delete('mangle KUBE-KUBELET-CANARY');
  v4.chains.delete('mangle KUBE-IPTABLES-HINT');
  await clock.advance(66_000);
  assert.deepEqual(new Set(v4.chains.keys()), new Set(Object.keys(V4)));
  assert.equal(logged.at(-1), 'Inconsistent iptables state detected');
  await stop();
});

test('a check that does not get the lock is no flush', async () => {
  const { v4, clock, logged, stop } = machine();
  await clock.advance(1_000);
  v4.failWith = 4;
  await clock.advance(120_000);
  assert.deepEqual(logged, ['Initialized iptables rules.', 'Initialized iptables rules.']);
  await stop();
});

test('a machine without iptables gets no chains, and one family does not need the other', async () => {
  const none = machine([]);
  await none.running;
  assert.deepEqual(none.logged, ['No iptables support on this system; not creating the KUBE-IPTABLES-HINT chain']);
  const one = machine(['iptables']);
  await one.clock.advance(1_000);
  assert.deepEqual(one.logged, ['Initialized iptables rules.']);
  await one.stop();
});
