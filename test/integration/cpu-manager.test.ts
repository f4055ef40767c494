/** Exclusive CPUs of real containers. The reconcile period is an hour: every change arrives at once or not at all. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Container } from '../../src/api/generated/core-v1.ts';
import type { CpuManagerSettings } from '../../src/kubelet/cpu-manager/cpu-manager-settings.ts';
import { podOf } from '../agent/memory-agent.ts';
import { shell, startTestAgent, type TestAgent } from './agent-fixture.ts';
import { runtimeSkipReason } from './runtime-fixture.ts';

const PATIENCE_MS = 120_000;
/** Prints the CPUs that the kernel allows, again and again. */
const PRINT = 'trap "exit 0" TERM; while true; do grep Cpus_allowed_list /proc/self/status; sleep 0.1; done';

const CPU_MANAGER: CpuManagerSettings = {
  policy: 'static',
  options: {},
  gates: { alphaOptions: false, betaOptions: true },
  reconcilePeriodMs: 3_600_000,
  reservedSystemCpus: '0',
  reservedMilliCpus: 0n,
  topologyManagerPolicy: 'none',
  disablesQuota: true,
};

const skip = runtimeSkipReason() ?? (availableParallelism() < 2 ? 'this machine has one CPU' : undefined);

suite('exclusive CPUs', { skip: skip ?? false, timeout: 600_000 }, () => {
  let agent: TestAgent;
  before(async () => {
    agent = await startTestAgent({ cpuManager: CPU_MANAGER });
  });
  after(() => agent?.stop());

  const stateFile = (): string => readFileSync(join(agent.runtime.folder, 'kubelet/cpu_manager_state'), 'utf8');

  /** Resolves when the container last printed CPUs that fit; returns them. */
  async function printed(name: string, fits: (cpus: string) => boolean): Promise<string> {
    const log = join(agent.runtime.folder, 'pod-logs', `default_${name}_uid-${name}`, 'main', '0.log');
    const last = (): string =>
      existsSync(log) ? (readFileSync(log, 'utf8').trim().split('\n').at(-1)?.split('\t').at(-1) ?? '') : '';
    for (const end = performance.now() + PATIENCE_MS; performance.now() < end; ) {
      if (last() !== '' && fits(last())) return last();
      await delay(50);
    }
    throw new Error(`pod ${name} last printed ${JSON.stringify(last())}`);
  }

  test('a container of the shared pool leaves the CPU that another one gets, and returns to it', async () => {
    const shared = podOf('shared', { containers: [printing()] });
    const own = podOf('own', { containers: [printing('1')], terminationGracePeriodSeconds: 1 });
    agent.source.set(shared);
    const all = await printed('shared', () => true);
    agent.source.set(shared, own);
    const cpu = await printed('own', (cpus) => cpus !== all);
    assert.match(cpu, /^[1-9][0-9]*$/);
    assert.match(stateFile(), new RegExp(`"entries":{"uid-own":{"main":"${cpu}"}}`));
    const rest = await printed('shared', (cpus) => cpus !== all);
    assert.ok(!rest.split(/[-,]/).includes(cpu), `${rest} has not ${cpu}`);
    const isGone = agent.gone('own');
    agent.source.set(shared);
    await isGone;
    await printed('shared', (cpus) => cpus === all);
    assert.doesNotMatch(stateFile(), /entries/);
  });
});

function printing(cpu?: string): Container {
  const container = shell('main', PRINT);
  if (cpu === undefined) return container;
  const amounts = { cpu, memory: '64Mi' };
  return { ...container, resources: { requests: amounts, limits: amounts } };
}
