/** Container operations on the real kernel: storage, OCI spec, monitor and OCI runtime together. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import {
  type ContainerConfig,
  ContainerState,
  CreateContainerRequest,
  LinuxContainerResources,
  NamespaceMode,
  UpdateContainerResourcesRequest,
} from '../../src/cri/generated/runtime-v1.ts';
import type { Containers } from '../../src/runtime/server/create-containers.ts';
import { ContainerFixture, never } from './container-fixture.ts';
import { host, preferredProgram } from './oci-fixture.ts';

const { program, skip } = await preferredProgram();
const nodeNamespaces = { network: NamespaceMode.NODE, ipc: NamespaceMode.NODE };
const context = (more = {}) => ({
  linux: { securityContext: { namespaceOptions: { ...nodeNamespaces, pid: NamespaceMode.CONTAINER, ...more } } },
});

function fixture(t: TestContext, pid?: NamespaceMode): ContainerFixture {
  const made = new ContainerFixture(program, pid);
  t.after(() => made.close());
  return made;
}

async function started({ verbs }: Containers, config: ContainerConfig): Promise<string> {
  const request = CreateContainerRequest.create({ podSandboxId: 'pod1', config });
  const { containerId } = await verbs.createContainer(request, never);
  await verbs.startContainer({ containerId }, never);
  return containerId;
}

async function statusOf({ verbs }: Containers, containerId: string) {
  const { status } = await verbs.containerStatus({ containerId, verbose: false }, never);
  assert.ok(status);
  return status;
}

async function ended(containers: Containers, id: string) {
  for (;;) {
    const status = await statusOf(containers, id);
    if (status.state === ContainerState.CONTAINER_EXITED) return status;
    await host.clock.sleep(5, never);
  }
}

async function logHas(made: ContainerFixture, text: string): Promise<void> {
  while (!made.log().includes(text)) await host.clock.sleep(5, never);
}

const WAIT = 'trap "exit 7" TERM; echo ready; while :; do sleep 1000 & wait; done';

test('a container from creation to removal', { skip }, async (t) => {
  const made = fixture(t);
  const containers = await made.start();
  const { verbs } = containers;
  const containerId = await started(containers, made.config(WAIT, context()));
  await logHas(made, 'ready');
  const { stdout, exitCode } = await verbs.execSync(
    { containerId, cmd: ['sh', '-c', 'echo hi; exit 4'], timeout: 120n },
    never,
  );
  assert.deepEqual([new TextDecoder().decode(stdout), exitCode], ['hi\n', 4]);
  await assert.rejects(verbs.execSync({ containerId, cmd: ['sleep', '100'], timeout: 1n }, never), {
    code: 'DeadlineExceeded',
  });
  const linux = LinuxContainerResources.create({ memoryLimitInBytes: 64n * 1024n * 1024n });
  await verbs.updateContainerResources(UpdateContainerResourcesRequest.create({ containerId, linux }), never);
  assert.equal((await statusOf(containers, containerId)).resources?.linux?.memoryLimitInBytes, 64n * 1024n * 1024n);
  await verbs.reopenContainerLog({ containerId }, never);
  await verbs.stopContainer({ containerId, timeout: 20n }, never);
  const status = await statusOf(containers, containerId);
  assert.deepEqual([status.state, status.exitCode, status.reason], [ContainerState.CONTAINER_EXITED, 7, 'Error']);
  await verbs.removeContainer({ containerId }, never);
  assert.deepEqual(made.remainingResources(), []);
});

test('a missing command fails the start with its error', { skip }, async (t) => {
  const made = fixture(t);
  const containers = await made.start();
  const config = { ...made.config('', context()), command: ['/no-such-command'] };
  await assert.rejects(started(containers, config), /cannot start container: .*no-such-command/);
  const [record] = containers.records.all.values();
  assert.ok(record);
  const status = await statusOf(containers, record.id);
  assert.deepEqual([status.exitCode, status.reason], [128, 'StartError']);
  await containers.verbs.removeContainer({ containerId: record.id }, never);
  assert.deepEqual(made.remainingResources(), []);
});

test('containers keep running through a restart, and exits meanwhile are reported', { skip }, async (t) => {
  const made = fixture(t);
  let containers = await made.start();
  const going = await started(containers, made.config(WAIT, context()));
  await logHas(made, 'ready');
  const gate = `${made.folder}/gate`;
  writeFileSync(gate, '');
  const mounts = [{ containerPath: '/gate', hostPath: gate }];
  const script = 'until grep -q go /gate; do sleep 0.01; done; exit 9';
  const ending = await started(containers, made.config(script, { ...context(), mounts, metadata: { name: 'ending' } }));
  const { pid } = { pid: 0, ...containers.records.all.get(going)?.state };
  const over = made.start();
  writeFileSync(gate, 'go\n');
  containers = await over;
  assert.equal((await ended(containers, ending)).exitCode, 9);
  assert.equal((await statusOf(containers, going)).state, ContainerState.CONTAINER_RUNNING);
  assert.ok(existsSync(`/proc/${pid}`));

  // As after a kill between the start of its process and the record of it.
  const path = `${made.paths.containerRecords}/${going}.json`;
  const record = JSON.parse(readFileSync(path, 'utf8'));
  writeFileSync(path, JSON.stringify({ ...record, state: { phase: 'starting' } }));
  containers = await made.start();
  const { state } = containers.records.all.get(going) ?? {};
  assert.deepEqual([state?.phase, state?.phase === 'running' && state.pid], ['running', pid]);
  await containers.ofSandbox.stopAll('pod1', never);
  assert.equal((await statusOf(containers, going)).exitCode, 137);
  await containers.ofSandbox.removeAll('pod1', never);
  assert.deepEqual(made.remainingResources(), []);
});

test('a start that was interrupted before the process ran can be retried', { skip }, async (t) => {
  const made = fixture(t);
  let containers = await made.start();
  const request = CreateContainerRequest.create({ podSandboxId: 'pod1', config: made.config('exit 3', context()) });
  const { containerId } = await containers.verbs.createContainer(request, never);
  const path = `${made.paths.containerRecords}/${containerId}.json`;
  const record = JSON.parse(readFileSync(path, 'utf8'));
  writeFileSync(path, JSON.stringify({ ...record, state: { phase: 'starting' } }));
  containers = await made.start();
  assert.equal((await statusOf(containers, containerId)).state, ContainerState.CONTAINER_CREATED);
  await containers.verbs.startContainer({ containerId }, never);
  assert.equal((await ended(containers, containerId)).exitCode, 3);
  await containers.verbs.removeContainer({ containerId }, never);
  assert.deepEqual(made.remainingResources(), []);
});

test('the end of the monitor ends the container', { skip }, async (t) => {
  const made = fixture(t);
  const containers = await made.start();
  const id = await started(containers, made.config(WAIT, context()));
  await logHas(made, 'ready');
  const { pid } = { pid: 0, ...containers.records.all.get(id)?.state };
  process.kill(Number(readFileSync(`${made.paths.bundle(id)}/conmon.pid`, 'utf8')), 'SIGKILL');
  const status = await ended(containers, id);
  assert.deepEqual([status.exitCode, status.reason], [255, 'Unknown']);
  await containers.verbs.removeContainer({ containerId: id }, never);
  assert.equal(await host.processes.identify(pid), undefined);
  assert.deepEqual(made.remainingResources(), []);
});

test('processes that a container leaves in the host PID namespace are killed with it', { skip }, async (t) => {
  const made = fixture(t, NamespaceMode.NODE);
  const containers = await made.start();
  const script = 'setsid sleep 1000 & echo left $!; exit 0';
  const id = await started(containers, made.config(script, context({ pid: NamespaceMode.NODE })));
  await ended(containers, id);
  const left = Number(/left (\d+)/.exec(made.log())?.[1]);
  const identity = await host.processes.identify(left);
  if (identity) await host.processes.waitForExit(identity, never);
  await containers.verbs.removeContainer({ containerId: id }, never);
  assert.deepEqual(made.remainingResources(), []);
});

test('a volume of the image is writable below a read-only root', { skip }, async (t) => {
  const made = fixture(t);
  const containers = await made.start();
  const linux = { securityContext: { ...context().linux.securityContext, readonlyRootfs: true } };
  const script = 'echo x > /data/file && ! echo x > /file && cat /data/file';
  const id = await started(containers, made.config(script, { linux, image: { image: 'declaring' } }));
  assert.equal((await ended(containers, id)).exitCode, 0, made.log());
  await containers.verbs.removeContainer({ containerId: id }, never);
  assert.deepEqual(made.remainingResources(), []);
});
