/** kubelet's iptables chains with the real programs, in a network namespace of their own. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { byCodePoint } from '../../src/base/code-point-order.ts';
import { silentLog } from '../../src/base/log.ts';
import { createLinuxProcesses } from '../../src/host/linux/process/linux-processes.ts';
import type { Processes } from '../../src/host/processes.ts';
import { keepUtilChains } from '../../src/kubelet/host-network/keep-util-chains.ts';
import { until } from './until.ts';

const VARIANTS = ['nft', 'legacy'] as const;
type Variant = (typeof VARIANTS)[number];

const LOCALNET =
  '-A KUBE-FIREWALL ! -s 127.0.0.0/8 -d 127.0.0.0/8 -m comment --comment "block incoming localnet connections" ' +
  '-m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP';
const FILTER = ['-A INPUT -j KUBE-FIREWALL', '-A OUTPUT -j KUBE-FIREWALL', LOCALNET];

class Namespace {
  readonly #variant: Variant;
  readonly #holder: ChildProcess;

  constructor(variant: Variant, holder: ChildProcess) {
    this.#variant = variant;
    this.#holder = holder;
  }

  /** Runs `iptables` and `ip6tables` of the variant, in the namespace. */
  get processes(): Pick<Processes, 'run'> {
    const own = createLinuxProcesses(process.env);
    return {
      run: ({ program, args, ...rest }, signal) =>
        own.run({ ...rest, program: 'nsenter', args: [...this.#prefix(program), ...args] }, signal),
    };
  }

  run(program: string, ...args: string[]): string {
    return execFileSync('nsenter', [...this.#prefix(program), ...args], { encoding: 'utf8', stdio: 'pipe' });
  }

  rules(program = 'iptables'): readonly string[] {
    const saved = ['mangle', 'nat', 'filter'].map((table) => this.run(`${program}-save`, '-t', table)).join('\n');
    return saved
      .split('\n')
      .filter((line) => line.includes('KUBE-'))
      .map((line) => line.replace(/ \[\d+:\d+\]$/, ''));
  }

  #prefix(program: string): readonly string[] {
    const [family = '', ...rest] = program.split('-');
    return ['-t', String(this.#holder.pid), '-n', [family, this.#variant, ...rest].join('-')];
  }
}

async function namespace(t: TestContext, variant: Variant): Promise<Namespace> {
  const holder = spawn('unshare', ['-n', 'sh', '-c', 'echo ready; exec sleep 1000'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  t.after(() => holder.kill('SIGKILL'));
  await once(holder.stdout, 'data');
  return new Namespace(variant, holder);
}

for (const variant of VARIANTS) {
  const isInstalled = process.getuid?.() === 0 && existsSync(`/usr/sbin/iptables-${variant}`);
  const skip = isInstalled ? false : `needs root and iptables-${variant}`;
  test(`iptables-${variant} has kubelet's chains, also after a flush`, { skip }, async (t) => {
    const space = await namespace(t, variant);
    const clock = {
      monotonic: () => performance.now(),
      sleep: (ms: number, signal: AbortSignal) => delay(ms / 200, undefined, { signal }),
    };
    const life = new AbortController();
    const running = keepUtilChains({ processes: space.processes, clock, log: silentLog }, life.signal);
    t.after(async () => {
      life.abort(new Error('the test is over'));
      await running;
    });
    const hasAll = (): boolean => space.rules().length === 8;
    await until(() => hasAll() || undefined);
    const expected = [
      ':KUBE-IPTABLES-HINT -',
      ...[':KUBE-KUBELET-CANARY -', ':KUBE-KUBELET-CANARY -', ':KUBE-KUBELET-CANARY -'],
      ':KUBE-FIREWALL -',
      ...FILTER,
    ];
    assert.deepEqual(space.rules().toSorted(byCodePoint), expected.toSorted(byCodePoint));

    for (const table of ['mangle', 'nat', 'filter']) {
      space.run('iptables', '-t', table, '-F');
      space.run('iptables', '-t', table, '-X');
    }
    await until(() => hasAll() || undefined);
    assert.deepEqual(space.rules().toSorted(byCodePoint), expected.toSorted(byCodePoint));
    const ipv6 = space.rules('ip6tables');
    assert.ok(ipv6.includes(':KUBE-IPTABLES-HINT -') && !ipv6.includes(':KUBE-FIREWALL -'), ipv6.join('\n'));
  });
}
