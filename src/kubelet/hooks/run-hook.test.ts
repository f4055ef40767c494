import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, LifecycleHandler } from '../../api/generated/core-v1.ts';
import { CriError } from '../../cri/cri-error.ts';
import { MemoryFileSystem } from '../../host/fake/memory-file-system.ts';
import { MemoryNetwork, type MemoryService } from '../../host/fake/memory-network.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { PodEvents } from '../events/pod-events.ts';
import type { ExecInContainer } from '../probes/exec-in-container.ts';
import { restoreContainer } from './pre-stop.ts';
import { type HookOutcome, runHook } from './run-hook.ts';

interface Given {
  readonly hook: LifecycleHandler;
  readonly exec?: ExecInContainer;
  /** What answers at 10.0.0.2:8080. */
  readonly service?: MemoryService;
  readonly podIP?: string | undefined;
}

interface Ran {
  readonly outcome: HookOutcome;
  readonly tookMs: number;
}

const container: Container = { name: 'web', ports: [{ name: 'http', containerPort: 8080 }] };
const bytes = (text: string) => new TextEncoder().encode(text);

async function ran({ hook, exec = async () => ended(0), service, ...given }: Given): Promise<Ran> {
  const clock = new VirtualClock();
  const network = new MemoryNetwork(new MemoryFileSystem(() => clock.now()));
  if (service) network.listen({ host: '10.0.0.2', port: 8080 }, service);
  const podIP = (): string | undefined => ('podIP' in given ? given.podIP : '10.0.0.2');
  const deps = { clock, network, exec, events: new PodEvents(clock), podIP };
  const pod = { metadata: { name: 'p', namespace: 'ns', uid: 'u' }, spec: { containers: [container] } };
  const subject = { pod, container, containerId: 'c1' };
  const outcome = await clock.runUntil(runHook(hook, subject, deps, new AbortController().signal));
  return { outcome, tookMs: clock.monotonic() };
}

function ended(exitCode: number, stdout = '', stderr = '') {
  return { exitCode, stdout: bytes(stdout), stderr: bytes(stderr) };
}

const done: HookOutcome = { kind: 'done' };
const failed = (message: string): HookOutcome => ({ kind: 'failed', message });
const of = 'for Container "web" in Pod "p_ns(u)" failed - error:';
const exec = { exec: { command: ['sh', '-c', 'exit $(CODE)'] } };

const cases: Record<string, { given: Given; outcome: HookOutcome; tookMs?: number }> = {
  'exec: done by exit code 0': { given: { hook: exec }, outcome: done },
  'exec: failed by another exit code': {
    given: { hook: exec, exec: async () => ended(2, 'a\n', 'b') },
    outcome: failed(
      `Exec lifecycle hook ([sh -c exit $(CODE)]) ${of} command 'sh -c exit $(CODE)' exited with 2: b, message: "a\\nb"`,
    ),
  },
  'exec: failed when the runtime cannot do it': {
    given: { hook: exec, exec: () => Promise.reject(new CriError('NotFound', 'no such container')) },
    outcome: failed(
      `Exec lifecycle hook ([sh -c exit $(CODE)]) ${of} rpc error: code = NotFound desc = no such container, message: ""`,
    ),
  },
  'exec: failed when the runtime reports a timeout': {
    given: { hook: exec, exec: () => Promise.reject(new CriError('DeadlineExceeded', 'too slow')) },
    outcome: failed(
      `Exec lifecycle hook ([sh -c exit $(CODE)]) ${of} command timed out: "sh -c exit $(CODE)" timed out after 0s, message: ""`,
    ),
  },
  'exec: no more than 10 KiB of its output are kept': {
    given: { hook: { exec: { command: ['x'] } }, exec: async () => ended(1, 'x'.repeat(20_000)) },
    outcome: failed(`Exec lifecycle hook ([x]) ${of} command 'x' exited with 1: , message: "${'x'.repeat(10_240)}"`),
  },
  'sleep: done when it is over': { given: { hook: { sleep: { seconds: 5 } } }, outcome: done, tookMs: 5000 },
  'sleep: nothing is long enough': { given: { hook: { sleep: { seconds: 0 } } }, outcome: done },
  'http: done by any answer, at a port by its name': {
    given: {
      hook: { httpGet: { port: 'http', path: '/x' } },
      service: { http: async () => ({ status: 503, body: '' }) },
    },
    outcome: done,
  },
  'http: done also when the answer breaks off': {
    given: {
      hook: { httpGet: { port: 8080 } },
      service: {
        http: async () => ({
          status: 200,
          // biome-ignore lint/correctness/useYield: it breaks before its first byte
          body: (async function* (): AsyncGenerator<string> {
            throw new Error('broken');
          })(),
        }),
      },
    },
    outcome: done,
  },
  'http: fails without a listener': {
    given: { hook: { httpGet: { port: 8080, path: '/x' } } },
    outcome: failed(
      `HTTP lifecycle hook (/x) ${of} Get "http://10.0.0.2:8080/x": dial tcp 10.0.0.2:8080: connect: connection refused`,
    ),
  },
  'http: failed without an address': {
    given: { hook: { httpGet: { port: 80 } }, podIP: undefined },
    outcome: failed(`HTTP lifecycle hook () ${of} failed to find networking container`),
  },
  'http: failed for a port that has no number': {
    given: { hook: { httpGet: { port: 'admin' } } },
    outcome: failed(`HTTP lifecycle hook () ${of} strconv.Atoi: parsing "admin": invalid syntax`),
  },
  'http: failed over TLS and without it': {
    given: { hook: { httpGet: { port: 8080, scheme: 'HTTPS' } }, service: { certificate: 'untrusted' } },
    outcome: failed(`HTTP lifecycle hook () ${of} Get "https://10.0.0.2:8080/": read: connection reset by peer`),
  },
  'tcp: refused': {
    given: { hook: { tcpSocket: { port: 80 } } },
    outcome: failed(
      'Cannot run handler: invalid handler: &LifecycleHandler{Exec:nil,HTTPGet:nil,TCPSocket:&TCPSocketAction{Port:{0 80 },Host:,},Sleep:nil,}',
    ),
  },
  'tcp: refused by name': {
    given: { hook: { tcpSocket: { port: 'http', host: 'a' } } },
    outcome: failed(
      'Cannot run handler: invalid handler: &LifecycleHandler{Exec:nil,HTTPGet:nil,TCPSocket:&TCPSocketAction{Port:{1 0 http},Host:a,},Sleep:nil,}',
    ),
  },
};

for (const [name, { given, outcome, tookMs = 0 }] of Object.entries(cases)) {
  test(`runHook() ${name}`, async () => {
    assert.deepEqual(await ran(given), { outcome, tookMs });
  });
}

test('runHook() exec: the command as it is written, and no time limit', async () => {
  const calls: unknown[] = [];
  await ran({
    hook: exec,
    exec: async (...[id, command, timeoutMs]) => {
      calls.push([id, command, timeoutMs]);
      return ended(0);
    },
  });
  assert.deepEqual(calls, [['c1', ['sh', '-c', 'exit $(CODE)'], undefined]]);
});

const PRE_STOP = 'io.kubernetes.container.preStopHandler';
const PORTS = 'io.kubernetes.container.ports';

const restored: Record<string, { annotations: Record<string, string>; container: Container }> = {
  'hook and ports': {
    annotations: {
      [PRE_STOP]: '{"httpGet":{"path":"/bye","port":"http"}}',
      [PORTS]: '[{"name":"http","containerPort":80}]',
    },
    container: {
      name: 'web',
      ports: [{ name: 'http', containerPort: 80 }],
      lifecycle: { preStop: { httpGet: { path: '/bye', port: 'http' } } },
    },
  },
  'nothing without annotations': { annotations: {}, container: { name: 'web', lifecycle: {} } },
  'nothing from invalid JSON': { annotations: { [PRE_STOP]: '{' }, container: { name: 'web', lifecycle: {} } },
  'nothing from invalid fields': { annotations: { [PRE_STOP]: '{"exec":1}' }, container: { name: 'web' } },
};

for (const [name, { annotations, container: expected }] of Object.entries(restored)) {
  test(`restoredContainer() reads ${name}`, () => {
    assert.deepEqual(restoreContainer('web', annotations), expected);
  });
}
