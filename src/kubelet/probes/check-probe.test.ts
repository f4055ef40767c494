import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Probe } from '../../api/generated/core-v1.ts';
import { CriError } from '../../cri/cri-error.ts';
import { MemoryFileSystem } from '../../host/fake/memory-file-system.ts';
import { MemoryNetwork } from '../../host/fake/memory-network.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { checkProbe } from './check-probe.ts';
import type { ExecInContainer } from './exec-in-container.ts';
import type { CheckDeps, CheckOutcome } from './probe-handler.ts';

const web: Container = {
  name: 'web',
  image: 'busybox',
  ports: [{ name: 'http', containerPort: 8080 }],
  env: [{ name: 'GREETING', value: 'hello' }],
};

const bytes = (text: string) => new TextEncoder().encode(text);

function exits(exitCode: number, stdout = '', stderr = ''): ExecInContainer {
  return async () => ({ exitCode, stdout: bytes(stdout), stderr: bytes(stderr) });
}

const hangs: ExecInContainer = (_id, _command, _timeout, signal) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

interface Given {
  readonly probe: Probe;
  readonly exec?: ExecInContainer;
  readonly network?: (network: MemoryNetwork) => void;
  readonly podIP?: string;
}

async function check({ probe, exec = exits(0), network: arrange, podIP = '10.0.0.2' }: Given): Promise<CheckOutcome> {
  const clock = new VirtualClock();
  const network = new MemoryNetwork(new MemoryFileSystem(() => clock.now()));
  arrange?.(network);
  const deps: CheckDeps = { clock, network, exec };
  const target = { container: web, containerId: 'c1', podIP };
  return clock.runUntil(checkProbe(probe, target, 1000, deps, new AbortController().signal));
}

const command: Probe = { exec: { command: ['sh', '-c', 'test "$A"'] } };
const tcp = (port: string | number, host?: string): Probe => ({ tcpSocket: { port, host } });
const unknown = (output: string): CheckOutcome => ({ kind: 'error', state: 'unknown', output });

const cases: Record<string, { given: Given; outcome: CheckOutcome }> = {
  'exec: success with its output': {
    given: { probe: command, exec: exits(0, 'fine\n', 'and more\n') },
    outcome: { kind: 'success', output: 'fine\nand more\n' },
  },
  'exec: failure by the exit code': {
    given: { probe: command, exec: exits(3, '', 'no such file\n') },
    outcome: { kind: 'failure', output: 'no such file\n' },
  },
  'exec: no more than 10 KiB are kept': {
    given: { probe: command, exec: exits(1, 'x'.repeat(20_000)) },
    outcome: { kind: 'failure', output: 'x'.repeat(10_240) },
  },
  'exec: failure when the runtime reports a timeout': {
    given: { probe: command, exec: () => Promise.reject(new CriError('DeadlineExceeded', 'too slow')) },
    outcome: { kind: 'failure', output: 'command timed out: "sh -c test \\"$A\\"" timed out after 1s' },
  },
  'exec: failure when the runtime does not even say that': {
    given: { probe: command, exec: hangs },
    outcome: { kind: 'failure', output: 'command timed out: "sh -c test \\"$A\\"" timed out after 1s' },
  },
  'exec: unknown when the runtime fails': {
    given: { probe: command, exec: () => Promise.reject(new CriError('NotFound', 'no such container')) },
    outcome: unknown('rpc error: code = NotFound desc = no such container'),
  },
  'tcp: success by number': {
    given: { probe: tcp(80), network: (network) => network.listen({ host: '10.0.0.2', port: 80 }) },
    outcome: { kind: 'success', output: '' },
  },
  'tcp: success by name': {
    given: { probe: tcp('http'), network: (network) => network.listen({ host: '10.0.0.2', port: 8080 }) },
    outcome: { kind: 'success', output: '' },
  },
  'tcp: success by a number that is written as a text': {
    given: { probe: tcp('80'), network: (network) => network.listen({ host: '10.0.0.2', port: 80 }) },
    outcome: { kind: 'success', output: '' },
  },
  'tcp: success on another host': {
    given: { probe: tcp(80, '10.0.0.9'), network: (network) => network.listen({ host: '10.0.0.9', port: 80 }) },
    outcome: { kind: 'success', output: '' },
  },
  'tcp: failure without a listener': {
    given: { probe: tcp(80) },
    outcome: { kind: 'failure', output: 'dial tcp 10.0.0.2:80: connect: connection refused' },
  },
  'tcp: failure over IPv6': {
    given: { probe: tcp(80), podIP: 'fd00::2' },
    outcome: { kind: 'failure', output: 'dial tcp [fd00::2]:80: connect: connection refused' },
  },
  'tcp: failure when there is no way': {
    given: { probe: tcp(80), network: (network) => network.errors.failNext('dial', 'EHOSTUNREACH') },
    outcome: { kind: 'failure', output: 'dial tcp 10.0.0.2:80: connect: no route to host' },
  },
  'tcp: failure when no response comes in time': {
    given: { probe: tcp(80), network: (network) => network.blackHole({ host: '10.0.0.2', port: 80 }) },
    outcome: { kind: 'failure', output: 'dial tcp 10.0.0.2:80: i/o timeout' },
  },
  'tcp: unknown for a port without a number': {
    given: { probe: tcp('metrics') },
    outcome: unknown('strconv.Atoi: parsing "metrics": invalid syntax'),
  },
  'tcp: unknown for an invalid port': {
    given: { probe: tcp(0) },
    outcome: unknown('invalid port number: 0'),
  },
};

for (const [name, { given, outcome }] of Object.entries(cases)) {
  test(`checkProbe() ${name}`, async () => {
    assert.deepEqual(await check(given), outcome);
  });
}

test('checkProbe() exec: runs the command with static variables in it, in the container, within the time', async () => {
  const calls: unknown[] = [];
  const exec: ExecInContainer = async (...[id, words, timeoutMs]) => {
    calls.push([id, words, timeoutMs]);
    return { exitCode: 0, stdout: bytes(''), stderr: bytes('') };
  };
  await check({ probe: { exec: { command: ['echo', '$(GREETING)', '$(OTHER)', '$$(GREETING)'] } }, exec });
  assert.deepEqual(calls, [['c1', ['echo', 'hello', '$(OTHER)', '$(GREETING)'], 1000]]);
});

test('checkProbe() rejects when it is cancelled', async () => {
  const controller = new AbortController();
  const clock = new VirtualClock();
  const deps: CheckDeps = { clock, network: new MemoryNetwork(new MemoryFileSystem(() => clock.now())), exec: hangs };
  const target = { container: web, containerId: 'c1', podIP: '10.0.0.2' };
  const outcome = checkProbe(command, target, 1000, deps, controller.signal);
  controller.abort(new Error('the pod is gone'));
  await assert.rejects(outcome, new Error('the pod is gone'));
});
