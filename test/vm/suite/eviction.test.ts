/** Pods that the node ends: for memory pressure on cgroup v2, and before a shutdown that logind announces. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import type { Node, NodeCondition, Pod } from '../../../src/api/generated/core-v1.ts';
import { type ControlPlane, clusterSkipReason, podOn, startControlPlane } from '../../integration/cluster-fixture.ts';
import { end, launch } from '../../integration/daemon-fixture.ts';
import { prepareNode } from '../../integration/node-files.ts';
import {
  DATA_MOUNTS,
  DATA_VOLUMES,
  mountSmallDisk,
  SHORTAGES,
  smallNodeConfiguration,
} from '../../integration/shortages.ts';
import { nodelet, until as untilFound, writePod } from '../kubelet-agent.ts';
import { BUSYBOX, NODELET } from '../nodelet-program.ts';
import { systemdSkipReason } from '../systemd-skip.ts';

const NODE = 'guest';
/** What logind starts to power off; for the test it is an empty target, and everything before it is real. */
const POWER_OFF = '/run/systemd/system/poweroff.target';
const LOGIND_OVERRIDE = '/etc/systemd/logind.conf.d/99-kubelet.conf';
const NETWORK = '/etc/cni/net.d/10-eviction.conflist';

function skipReason(): string | false {
  const isGuest = hostname() === 'nodelet-vm';
  return (
    systemdSkipReason() ||
    (!isGuest && 'announces a shutdown: only in the virtual machine of `make vm`') ||
    clusterSkipReason()
  );
}

suite('a node with systemd and cgroup v2', { skip: skipReason(), timeout: 3_000_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-eviction-'));
  const stops = new AsyncDisposableStack();
  let plane: ControlPlane;

  before(async () => {
    // Puts the image into the store of the runtime.
    nodelet('run', '--once', writePod(join(folder, 'once.yaml'), 'once', {}, ['true']));
    replacePowerOff();
    // The pods are on the network of the machine; without a configuration of networks no node is ready.
    mkdirSync(dirname(NETWORK), { recursive: true });
    const network = { cniVersion: '1.0.0', name: 'eviction', plugins: [{ type: 'loopback' }] };
    writeFileSync(NETWORK, JSON.stringify(network));
    stops.defer(() => rmSync(NETWORK, { force: true }));
    plane = await startControlPlane();
    stops.defer(() => plane.stop());
    const disk = join(plane.folder, NODE, 'root');
    mountSmallDisk(disk);
    stops.defer(() => void execFileSync('umount', ['--lazy', disk]));
    const config = configuration();
    const files = await prepareNode({ plane, nodeName: NODE, endpoint: 'embedded', cgroupParent: '/', config });
    const agent = launch([...NODELET, 'kubelet', ...files.flags], files.logPath);
    stops.defer(() => end(agent, 'SIGTERM'));
    stops.defer(() => void process.stderr.write(readFileSync(files.logPath, 'utf8').slice(-20_000)));
    for (const [name, value] of Object.entries({ low: -100, high: 1000 }))
      await plane.apply({ apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name }, value });
    let found: Awaited<ReturnType<typeof readiness>> = {};
    stops.defer(() => void process.stderr.write(`the node was ready: ${found.status}, ${found.message}\n`));
    await until('a ready node', async () => {
      found = await readiness();
      return found.status === 'True' || undefined;
    });
  });
  after(async () => {
    await plane?.kubectl('delete', 'pods', '--all', '--force', '--grace-period=0').catch(() => {});
    await stops.disposeAsync();
    rmSync(POWER_OFF, { force: true });
    rmSync(LOGIND_OVERRIDE, { force: true });
    rmSync(folder, { recursive: true, force: true });
  });

  async function readiness(): Promise<{ readonly status?: string; readonly message?: string | undefined }> {
    return (await condition('Ready')) ?? {};
  }
  async function condition(wanted: string): Promise<NodeCondition | undefined> {
    const text = await plane.kubectl('get', 'node', NODE, '--ignore-not-found', '-ojson');
    const node: Node | undefined = text === '' ? undefined : JSON.parse(text);
    return node?.status?.conditions?.find(({ type }) => type === wanted);
  }
  const pod = async (name: string): Promise<Pod> => JSON.parse(await plane.kubectl('get', 'pod', name, '-ojson'));
  const untilReady = (name: string): Promise<true> =>
    until(`a ready pod ${name}`, async () => {
      const { status } = await pod(name);
      return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') || undefined;
    });
  /** The pod once its status has a reason. */
  const untilEnded = (name: string): Promise<Pod> =>
    until(`the end of ${name}`, async () => {
      const found = await pod(name);
      return found.status?.reason === undefined ? undefined : found;
    });

  for (const [what, { script, calm, message }] of Object.entries(SHORTAGES)) {
    test(`${what}, one that keeps to its own stays`, async () => {
      await plane.apply(shellPod('calm', ['exit 0', ''], calm.pod, calm.container));
      await untilReady('calm');
      const data = { volumeMounts: DATA_MOUNTS };
      await plane.apply(shellPod('greedy', ['exit 0', script], { volumes: DATA_VOLUMES }, data));
      const { status } = await untilEnded('greedy');
      assert.deepEqual([status?.phase, status?.reason], ['Failed', 'Evicted']);
      assert.match(status?.message ?? '', message);
      assert.equal(disruption(status), 'TerminationByKubelet');
      assert.equal((await pod('calm')).status?.phase, 'Running');
      await plane.kubectl('delete', 'pods', 'calm', 'greedy');
      for (const type of ['MemoryPressure', 'PIDPressure', 'DiskPressure']) {
        await until(`the end of ${type}`, async () => (await condition(type))?.status === 'False' || undefined);
      }
    });
  }

  test('a process that the kernel kills for the memory of the machine is an event, and the reason of its container', async () => {
    const eats = 'head -c 100000000 /dev/zero | tail -c 90000000 | sleep 1000 &';
    await plane.apply(shellPod('victim', ['exit 0', eats], { restartPolicy: 'Never' }));
    await untilReady('victim');
    await until('the memory of tail', () => memoryOf('tail') > 80_000 || undefined);
    writeFileSync('/proc/sysrq-trigger', 'f'); // has the kernel kill the worst process
    const ended = await until('the end of the container', async () => {
      const [main] = (await pod('victim')).status?.containerStatuses ?? [];
      return main?.state?.terminated;
    });
    assert.deepEqual([ended.exitCode, ended.reason], [137, 'OOMKilled']);
    const event = await until('an event', async () => {
      const selector = '--field-selector=reason=SystemOOM';
      return (await plane.kubectl('get', 'events', selector, '-ojsonpath={.items[*].message}')) || undefined;
    });
    assert.match(event, /^System OOM encountered, victim process: \S+, pid: \d+$/);
    await plane.kubectl('delete', 'pod', 'victim');
  });

  test('shutdown: logind waits while pods end in the order of their priority', async () => {
    const flags = join(folder, 'flags');
    mkdirSync(flags);
    const volumes = [{ name: 'flags', hostPath: { path: flags } }];
    const volumeMounts = [{ name: 'flags', mountPath: '/flags' }];
    // Ends when the test says so, and not before.
    const onTerm = 'until [ -e /flags/go ]; do sleep 1; done; exit 0';
    await plane.apply(
      shellPod('first', [onTerm, ''], { volumes, terminationGracePeriodSeconds: 600 }, { volumeMounts }),
      shellPod('second', ['exit 0', ''], { priorityClassName: 'high' }),
    );
    for (const name of ['first', 'second']) await untilReady(name);
    assert.equal(await inhibitors(), 1);

    execFileSync('systemctl', ['poweroff'], { stdio: 'inherit' });
    const { message } = await until('a node that is not ready', async () => {
      const condition = await readiness();
      return condition.status === 'False' ? condition : undefined;
    });
    assert.match(message ?? '', /node is shutting down/);
    await plane.apply(shellPod('late', ['exit 0', '']));
    const late = (await untilEnded('late')).status;
    assert.deepEqual(
      [late?.phase, late?.reason, late?.message],
      ['Failed', 'NodeShutdown', 'Pod was rejected: Pod was rejected as the node is shutting down.'],
    );
    assert.equal((await pod('second')).status?.reason, undefined, 'the pod of higher priority still runs');
    assert.equal(powerOffState(), 'inactive');

    writeFileSync(join(flags, 'go'), '');
    for (const name of ['first', 'second']) {
      const { status } = await untilEnded(name);
      assert.deepEqual(
        [status?.phase, status?.reason, status?.message, disruption(status)],
        ['Failed', 'Terminated', 'Pod was terminated in response to imminent node shutdown.', 'TerminationByKubelet'],
      );
    }
    await until('the rest of the shutdown', () => powerOffState() === 'active' || undefined);
  });

  test('after the shutdown was cancelled the node is ready, and delays the next one', async () => {
    // logind reports the end of its operation, which it announces as a cancellation: this machine has not gone down.
    await until('a ready node', async () => (await readiness()).status === 'True' || undefined);
    await until('an inhibitor lock', async () => (await inhibitors()) === 1 || undefined);
    const events = await plane.kubectl('get', 'events', '--field-selector=reason=Shutdown');
    assert.match(events, /Shutdown manager detected shutdown event/);
    assert.match(events, /Shutdown manager detected shutdown cancellation/);
  });
});

/** An emulated API server may be too slow for a request: it is asked again. */
function until<T>(what: string, find: () => T | undefined | Promise<T | undefined>): Promise<T> {
  return untilFound(what, async () => {
    try {
      return await find();
    } catch (error) {
      console.error(`${what}: ${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    }
  });
}

function configuration(): object {
  return {
    ...smallNodeConfiguration(),
    cgroupDriver: 'systemd',
    shutdownGracePeriodByPodPriority: [
      { priority: 0, shutdownGracePeriodSeconds: 600 },
      { priority: 1000, shutdownGracePeriodSeconds: 60 },
    ],
  };
}

/** `onTerm`: what the shell of the pod does on SIGTERM. */
function shellPod(
  name: string,
  [onTerm, script]: readonly [string, string],
  change: object = {},
  container: object = {},
): object {
  const command = ['sh', '-c', `trap '${onTerm}' TERM; ${script} sleep 100000 & wait`];
  const containers = [{ name: 'main', image: BUSYBOX, command, ...container }];
  const common = { hostNetwork: true, automountServiceAccountToken: false, terminationGracePeriodSeconds: 5 };
  return podOn(NODE, name, { ...common, containers, ...change });
}

function disruption(status: Pod['status']): string | undefined {
  return status?.conditions?.find(({ type }) => type === 'DisruptionTarget')?.reason;
}

/** The resident kilobytes of the largest process of that name. */
function memoryOf(name: string): number {
  const pids = execFileSync('sh', ['-c', `pidof ${name} || true`], { encoding: 'utf8' })
    .split(/\s+/)
    .filter(Boolean);
  const sizes = pids.map((pid) => {
    try {
      return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
    } catch {
      return 0; // exited meanwhile
    }
  });
  return Math.max(0, ...sizes);
}

function replacePowerOff(): void {
  mkdirSync('/run/systemd/system', { recursive: true });
  writeFileSync(POWER_OFF, '[Unit]\nDescription=Power off, replaced by a test\nDefaultDependencies=no\n');
  execFileSync('systemctl', ['daemon-reload']);
  const [path] = execFileSync('systemctl', ['show', '--value', '-p', 'FragmentPath', 'poweroff.target'], {
    encoding: 'utf8',
  }).split('\n');
  assert.equal(path, POWER_OFF);
  assert.equal(existsSync('/etc/systemd/system/poweroff.target'), false);
}

function powerOffState(): string {
  return execFileSync('systemctl', ['show', '--value', '-p', 'ActiveState', 'poweroff.target'], {
    encoding: 'utf8',
  }).trim();
}

/** The number of locks that the agent holds. */
async function inhibitors(): Promise<number> {
  const list = execFileSync('systemd-inhibit', ['--list', '--no-legend'], { encoding: 'utf8' });
  return list.split('\n').filter((line) => /^kubelet\s/.test(line)).length;
}
