/** The agent on containerd 2: what its CRI has and that of containerd 1.6 has not. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { chooseCgroupDriver } from '../../src/app/cgroup-driver.ts';
import { silentLog } from '../../src/base/log.ts';
import { type CriConnection, connectCri } from '../../src/cri/client.ts';
import { LinuxContainerResources } from '../../src/cri/generated/runtime-v1.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import { podOf } from '../agent/memory-agent.ts';
import { EXITS_ON_SIGTERM, shell, startTestAgent, type TestAgent } from './agent-fixture.ts';
import { accessContainers, type ContainerAccess } from './container-access.ts';
import type { CriCall } from './cri-calls.ts';
import { runtimeSkipReason } from './runtime-fixture.ts';
import { until } from './until.ts';

const signal = new AbortController().signal;
const WAITS_FOR_GO = "trap 'exit 0' TERM; echo listening; until [ -e /go ]; do sleep 0.05; done; exit 3";

/** A list of all pods, not of one. */
function isRelist({ method, request }: CriCall): boolean {
  if (method !== 'ListContainers' && method !== 'ListPodSandbox') return false;
  const { filter } = request as { readonly filter?: { readonly labelSelector: object } }; // the type of both methods
  return Object.keys(filter?.labelSelector ?? {}).length === 0;
}

suite('the agent on containerd 2', { skip: runtimeSkipReason('containerd2'), timeout: 900_000 }, () => {
  let it: TestAgent;
  let cri: CriConnection;
  let inside: ContainerAccess;

  before(async () => {
    it = await startTestAgent({ maxContainerRestartPeriodMs: 1000, containerStopSignals: true }, 'containerd2');
    cri = connectCri(it.runtime.endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: 120_000 });
    inside = accessContainers(it, signal);
  });
  after(async () => {
    inside?.close();
    cri?.close();
    await it?.stop();
  });

  const idOf = (pod: string, container: string): string =>
    it.report(pod).observed?.containers.find(({ name }) => name === container)?.id ?? '';

  test('is one of version 2', async () => {
    const { runtimeName, runtimeVersion } = await cri.runtime.version({ version: '' }, signal);
    assert.equal(runtimeName, 'containerd');
    assert.match(runtimeVersion, /^v2\./);
  });

  test('its cgroup driver is that of the runtime, not the configured one', async () => {
    assert.equal(await chooseCgroupDriver('systemd', cri.runtime, silentLog, signal), 'cgroupfs');
  });

  test('an exit is found by an event of CRI, without listing all pods', async () => {
    const ready = it.ready('exits');
    const failed = it.next(
      (event) => event.kind === 'status' && event.pod.metadata.name === 'exits' && event.status.phase === 'Failed',
      'exits failed',
    );
    it.source.set(podOf('exits', { restartPolicy: 'Never', containers: [shell('main', WAITS_FOR_GO)] }));
    await ready;
    const startMs = performance.now();
    await inside.ask('exits', 'main', 'touch /go');
    const endMs = await failed;
    assert.equal(it.report('exits').status.containerStatuses?.[0]?.state?.terminated?.exitCode, 3);
    assert.deepEqual(it.calls.within({ startMs, endMs }).filter(isRelist), []);
    const removed = it.gone('exits');
    it.source.set();
    await removed;
  });

  test('an exit while containerd is down is found, other containers keep running, and events go on', async () => {
    const ready = it.ready('survives');
    it.source.set(podOf('survives', { containers: [shell('stays', EXITS_ON_SIGTERM), shell('leaves', WAITS_FOR_GO)] }));
    await ready;
    await it.listening('survives', 'stays', 'leaves');
    const statusOf = (name: string) =>
      it.report('survives').status.containerStatuses?.find((container) => container.name === name);
    const [stays, pid] = [statusOf('stays'), await inside.pid('survives', 'leaves')];

    const brokenMs = performance.now();
    const restarting = it.runtime.restart();
    process.kill(pid, 'SIGKILL');
    await restarting;
    const restarted = (count: number) =>
      until(() => statusOf('leaves')?.restartCount === count && statusOf('leaves')?.state?.running !== undefined);
    await restarted(1);
    // containerd may report 255: it does not always find the exit code of a container that exited meanwhile.
    assert.notEqual(statusOf('leaves')?.lastState?.terminated?.exitCode ?? 0, 0);

    // The new stream is followed by a relist, which may be later than the restart of the container.
    const listed = (method: string) =>
      it.calls.all.some((call) => call.method === method && isRelist(call) && call.result && call.startMs > brokenMs);
    await until(() => listed('ListPodSandbox') && listed('ListContainers'));
    // The stream that showed that events are served, and the one that broke; a stream of containerd's own is no call of CRI.
    assert.ok(it.calls.all.filter(({ method }) => method === 'GetContainerEvents').length >= 2);

    const startMs = performance.now();
    await inside.ask('survives', 'leaves', 'touch /go');
    await restarted(2);
    assert.deepEqual(it.calls.within({ startMs, endMs: performance.now() }).filter(isRelist), []);
    assert.deepEqual(statusOf('stays'), stays);
    const removed = it.gone('survives');
    it.source.set();
    await removed;
  });

  test('a container is stopped with its stop signal', async () => {
    const ready = it.ready('signal');
    const container = shell('main', `trap 'exit 7' USR1; ${EXITS_ON_SIGTERM}`);
    const containers = [{ ...container, lifecycle: { stopSignal: 'SIGUSR1' } }];
    it.source.set(podOf('signal', { os: { name: 'linux' }, containers }));
    await ready;
    await it.listening('signal', 'main');
    assert.equal(it.report('signal').status.containerStatuses?.[0]?.stopSignal, 'SIGUSR1');
    const obeyed = it.next(
      (event) => event.kind === 'status' && event.status.containerStatuses?.[0]?.state?.terminated?.exitCode === 7,
      'it got its signal',
    );
    const removed = it.gone('signal');
    it.source.set();
    await Promise.all([obeyed, removed]);
  });

  test('the calls that a resize depends on: memory usage and resources of the sandbox', async () => {
    const ready = it.ready('resize');
    it.source.set(podOf('resize', { containers: [shell('main', EXITS_ON_SIGTERM)] }));
    await ready;
    const podSandboxId = it.report('resize').observed?.sandboxes[0]?.id ?? '';
    const pod = await cri.runtime.podSandboxStats({ podSandboxId }, signal);
    assert.ok((pod.stats?.linux?.memory?.usageBytes?.value ?? 0n) > 0n);
    const container = await cri.runtime.containerStats({ containerId: idOf('resize', 'main') }, signal);
    assert.ok((container.stats?.memory?.usageBytes?.value ?? 0n) > 0n);
    const resources = LinuxContainerResources.fromPartial({ cpuPeriod: 100_000n, cpuQuota: 50_000n });
    await cri.runtime.updatePodSandboxResources({ podSandboxId, overhead: undefined, resources }, signal);
    const removed = it.gone('resize');
    it.source.set();
    await removed;
  });
});
