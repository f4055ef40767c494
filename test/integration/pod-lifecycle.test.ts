/** The lifecycle of containers on the real runtime: order, restarts, changes, and a lost sandbox. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Pod } from '../../src/api/generated/core-v1.ts';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { type CriConnection, connectCri } from '../../src/cri/client.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import { podOf } from '../agent/memory-agent.ts';
import { EXITS_ON_SIGTERM, shell, startTestAgent, type TestAgent } from './agent-fixture.ts';
import { runtimeSkipReason, TEST_RUNTIME } from './runtime-fixture.ts';

const OTHER_IMAGE = 'localhost/nodelet/busybox:other';
const signal = new AbortController().signal;

/** The time in which a failed sync is retried. */
const FAILED_PASS_MS = 20_000;
/** A container that exits before its sandbox is checked may restart once more before the sandbox is removed. */
const MAYBE_TWICE = [1, 2];

suite('the containers of a pod', { skip: runtimeSkipReason(), timeout: 900_000 }, () => {
  let it: TestAgent;
  let cri: CriConnection;

  before(async () => {
    it = await startTestAgent({ maxContainerRestartPeriodMs: 1000 });
    cri = connectCri(it.runtime.endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: 120_000 });
  });
  after(async () => {
    cri.close();
    await it.stop();
  });

  /** The container names of a CRI method, in the order of the calls. */
  const namesOf = (method: string, from: number): string[] => {
    return it.calls.all
      .slice(from)
      .filter((call) => call.method === method)
      .map(({ request }) => known.get((request as { containerId: string }).containerId) ?? '?'); // both requests have one
  };
  const known = new Map<string, string>();
  const remember = (name: string): void => {
    for (const each of it.report(name).observed?.containers ?? []) known.set(each.id, each.name);
  };
  const status = (name: string, container = 'main') =>
    it.report(name).status.containerStatuses?.find((each) => each.name === container);

  test('start in the order of the spec, and stop in reverse order, main containers first', async () => {
    const from = it.calls.all.length;
    const ready = it.ready('order');
    const sidecar = { ...shell('proxy', EXITS_ON_SIGTERM), restartPolicy: 'Always' };
    it.source.set(
      podOf('order', {
        initContainers: [shell('first', 'true'), sidecar, { ...sidecar, name: 'log' }, shell('second', 'true')],
        containers: [shell('main', EXITS_ON_SIGTERM), shell('more', EXITS_ON_SIGTERM)],
      }),
    );
    await ready;
    await it.listening('order', 'main', 'more', 'proxy', 'log');
    remember('order');
    const starts = namesOf('StartContainer', from);
    assert.deepEqual(starts.slice(0, 4), ['first', 'proxy', 'log', 'second']);
    assert.deepEqual(new Set(starts.slice(4)), new Set(['main', 'more']));
    const gone = it.gone('order');
    it.source.set();
    await gone;
    const stops = namesOf('StopContainer', from);
    assert.deepEqual(new Set(stops.slice(0, 2)), new Set(['main', 'more']));
    assert.deepEqual(stops.slice(2), ['log', 'proxy']);
  });

  test('restart for an exit code that a rule names, and end for any other', async () => {
    const rule = { action: 'Restart', exitCodes: { operator: 'In', values: [42] } };
    const failed = it.next((event) => event.kind === 'status' && event.status.phase === 'Failed', 'failed');
    it.source.set(
      podOf('rules', {
        restartPolicy: 'Never',
        volumes: [{ name: 'data', emptyDir: {} }],
        containers: [
          {
            ...shell('main', 'if [ -e /data/seen ]; then exit 1; fi; touch /data/seen; exit 42'),
            restartPolicy: 'Never',
            restartPolicyRules: [rule],
            volumeMounts: [{ name: 'data', mountPath: '/data' }],
          },
        ],
      }),
    );
    await failed;
    const { state, lastState, restartCount } = status('rules') ?? {};
    assert.deepEqual([restartCount, state?.terminated?.exitCode, lastState?.terminated?.exitCode], [1, 1, 42]);
  });

  test('all restart for an exit code that a rule names, the first init container first', async () => {
    const rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } };
    const mounted = { volumeMounts: [{ name: 'data', mountPath: '/data' }] };
    const name = 'all';
    const isAgain = (container: string): boolean =>
      status(name, container)?.restartCount === 1 && status(name, container)?.state?.running !== undefined;
    const again = it.next(() => isAgain('main') && isAgain('worker'), 'all began anew');
    it.source.set(
      podOf(name, {
        restartPolicy: 'Never',
        volumes: [{ name: 'data', emptyDir: {} }],
        initContainers: [
          { ...shell('first', 'echo run >> /data/first'), ...mounted },
          { ...shell('proxy', EXITS_ON_SIGTERM), restartPolicy: 'Always' },
        ],
        containers: [
          { ...shell('main', EXITS_ON_SIGTERM), ...mounted },
          {
            ...shell('worker', `[ "$(cat /data/first)" = run ] && exit 42; ${EXITS_ON_SIGTERM}`),
            ...mounted,
            restartPolicy: 'Never',
            restartPolicyRules: [rule],
          },
        ],
      }),
    );
    await again;
    const { status: shown, observed, events } = it.report(name);
    assert.equal(shown.phase, 'Running');
    const all = [...(shown.initContainerStatuses ?? []), ...(shown.containerStatuses ?? [])];
    assert.deepEqual(
      all.map((each) => `${each.name} ${each.restartCount} ${each.lastState?.terminated?.reason}`),
      ['first', 'proxy', 'main', 'worker'].map((each) => `${each} 1 RestartingAllContainers`),
    );
    assert.equal(observed?.sandboxes.length, 1);
    assert.equal(observed.containers.length, 4);
    assert.ok(events.some(({ reason, message }) => reason === 'Killing' && message === 'killing'));
  });

  test('an ephemeral container starts later, sees the processes of its target, and does not restart', async () => {
    const ready = it.ready('debugged');
    const pod = podOf('debugged', { containers: [shell('main', EXITS_ON_SIGTERM), shell('other', EXITS_ON_SIGTERM)] });
    it.source.set(pod);
    await ready;
    const before = [status('debugged')?.containerID, status('debugged', 'other')?.containerID];
    const shown = () => it.report('debugged').status.ephemeralContainerStatuses?.[0];
    const runs = it.next(() => shown()?.state?.running !== undefined, 'the ephemeral one runs');
    const debug = { ...shell('debug', `trap 'exit 7' USR1; ${EXITS_ON_SIGTERM}`), targetContainerName: 'main' };
    it.source.set({ ...pod, spec: { ...pod.spec, ephemeralContainers: [debug] } });
    await runs;
    await it.listening('debugged', 'main', 'debug');
    const id = it.report('debugged').observed?.containers.find(({ name }) => name === 'debug')?.id ?? '';
    const exec = async (line: string): Promise<string> => {
      const cmd = ['sh', '-c', line];
      const { stdout } = await cri.runtime.execSync({ containerId: id, cmd, timeout: 120n }, signal);
      return Buffer.from(stdout).toString();
    };
    // Process 1 is that of the target; the ephemeral container has its own processes beside it.
    const processes = await exec('ps -o pid,args');
    assert.match(processes, /^ +1 sh -c trap 'exit 0' TERM/m);
    assert.match(processes, /sh -c trap 'exit 7' USR1/);

    const ended = it.next(() => shown()?.state?.terminated !== undefined, 'the ephemeral one has ended');
    await exec("kill -USR1 $(ps -o pid,args | awk '/[e]xit 7/ { print $1; exit }')");
    await ended;
    assert.equal(shown()?.state?.terminated?.exitCode, 7);
    assert.deepEqual([status('debugged')?.containerID, status('debugged', 'other')?.containerID], before);
    const started = it.report('debugged').events.filter(({ reason }) => reason === 'Started');
    assert.deepEqual(started.map(({ fieldPath }) => fieldPath).slice(-1), ['spec.ephemeralContainers{debug}']);
  });

  test('a container is recreated when its image changes, and the others keep running', async () => {
    await it.runtime.tag(BUSYBOX_IMAGE, OTHER_IMAGE);
    const ready = it.ready('edit');
    const pod = podOf('edit', { containers: [shell('main', EXITS_ON_SIGTERM), shell('kept', EXITS_ON_SIGTERM)] });
    it.source.set(pod);
    await ready;
    const before = { main: status('edit')?.containerID, kept: status('edit', 'kept')?.containerID };
    const restarted = it.next(
      () => status('edit')?.state?.running !== undefined && status('edit')?.containerID !== before.main,
      'restarted',
    );
    const changed = { ...shell('main', EXITS_ON_SIGTERM), image: OTHER_IMAGE };
    it.source.set({ ...pod, spec: { ...pod.spec, containers: [changed, shell('kept', EXITS_ON_SIGTERM)] } });
    await restarted;
    assert.equal(status('edit', 'kept')?.containerID, before.kept);
    assert.equal(status('edit')?.restartCount, 1);
    assert.ok(
      it
        .report('edit')
        .events.some(({ message }) => message === 'Container main definition changed, will be restarted'),
    );
  });

  interface Loss {
    readonly spec: Partial<Pod['spec']>;
    /** The allowed restart counts of the container. */
    readonly restarts: readonly number[];
    lose(podSandboxId: string): Promise<unknown>;
  }
  const losses: Record<string, Loss> = {
    'is killed': {
      // A sandbox of the embedded runtime has a process only with a shared PID namespace.
      spec: { shareProcessNamespace: TEST_RUNTIME === 'embedded' },
      restarts: TEST_RUNTIME === 'embedded' ? MAYBE_TWICE : [1], // the kernel kills the processes that share it first
      async lose(podSandboxId) {
        const { info } = await cri.runtime.podSandboxStatus({ podSandboxId, verbose: true }, signal);
        const { pid } = JSON.parse(info['info'] ?? '{}');
        assert.ok(pid > 1, `the sandbox has a process: ${pid}`);
        process.kill(pid, 'SIGKILL');
      },
    },
    'is stopped by another client': {
      spec: {},
      restarts: MAYBE_TWICE, // the containers are stopped first
      lose: (podSandboxId) => cri.runtime.stopPodSandbox({ podSandboxId }, signal),
    },
  };
  for (const [index, [what, { spec, restarts, lose }]] of Object.entries(losses).entries()) {
    test(`all restart when their sandbox ${what}`, async () => {
      const name = `lost-${index}`;
      const ready = it.ready(name);
      it.source.set(podOf(name, { ...spec, containers: [shell('main', EXITS_ON_SIGTERM)] }));
      await ready;
      const again = it.next(() => {
        const { observed } = it.report(name);
        return observed?.sandboxes[0]?.attempt === 1 && observed.containers[0]?.state === 'running';
      }, 'in a new sandbox');
      await lose(it.report(name).observed?.sandboxes[0]?.id ?? '');
      await again;
      assert.ok(restarts.includes(status(name)?.restartCount ?? 0), `${status(name)?.restartCount} restarts`);
      assert.ok(it.report(name).events.some(({ reason }) => reason === 'SandboxChanged'));
    });
  }

  test('unsupported settings are reported, the others start, and the pod recovers when the cause is gone', async () => {
    const running = it.next(
      () =>
        status('image', 'good')?.state?.running !== undefined &&
        status('image')?.state?.waiting?.reason === 'ErrImageNeverPull',
      'the other one runs',
    );
    const pod = podOf('image', {
      containers: [
        { ...shell('main', EXITS_ON_SIGTERM), image: 'localhost/nodelet/late:1', imagePullPolicy: 'Never' },
        shell('good', EXITS_ON_SIGTERM),
      ],
    });
    it.source.set(pod);
    await running;
    const ready = it.ready('image');
    await it.runtime.tag(BUSYBOX_IMAGE, 'localhost/nodelet/late:1');
    it.clock.leap(FAILED_PASS_MS);
    await ready;
  });

  test('the exit of a container is known with its termination message', async () => {
    const done = it.next(() => status('said')?.state?.terminated !== undefined, 'terminated');
    it.source.set(
      podOf('said', {
        restartPolicy: 'Never',
        containers: [shell('main', 'echo "out of paint" > /dev/termination-log; exit 3')],
      }),
    );
    await done;
    const { exitCode, reason, message } = status('said')?.state?.terminated ?? {};
    assert.deepEqual([exitCode, reason, message], [3, 'Error', 'out of paint\n']);
  });
});
