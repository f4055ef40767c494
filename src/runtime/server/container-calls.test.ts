import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ContainerFilter,
  ContainerState,
  ExecSyncResponse,
  LinuxContainerResources,
  UpdateContainerResourcesRequest,
} from '../../cri/generated/runtime-v1.ts';
import {
  type ContainerWorld,
  createContainerWorld,
  createRequest,
  runContainer,
  sandboxRecord,
  signal,
} from '../container/fake/container-world.ts';

async function listed({ containers }: ContainerWorld, filter: Partial<ContainerFilter>): Promise<readonly string[]> {
  const answer = await containers.verbs.listContainers({ filter: ContainerFilter.create(filter) }, signal);
  return answer.containers.map(({ metadata }) => metadata?.name ?? '');
}

test('listContainers() filters by id, sandbox, state and labels', async () => {
  const world = await createContainerWorld();
  world.sandboxes.set('pod2', sandboxRecord('pod2'));
  const one = await runContainer(world, { metadata: { name: 'one' }, labels: { app: 'a', tier: 'x' } });
  await world.containers.verbs.createContainer(
    createRequest({ metadata: { name: 'two' }, labels: { app: 'a' } }),
    signal,
  );
  const inPod2 = { ...createRequest({ metadata: { name: 'three' } }), podSandboxId: 'pod2' };
  await world.containers.verbs.createContainer(inPod2, signal);
  assert.deepEqual(await listed(world, {}), ['one', 'two', 'three']);
  assert.deepEqual(await listed(world, { id: one }), ['one']);
  assert.deepEqual(await listed(world, { id: one.slice(0, 13) }), ['one']);
  assert.deepEqual(await listed(world, { id: 'none' }), []);
  assert.deepEqual(await listed(world, { podSandboxId: 'pod2' }), ['three']);
  assert.deepEqual(await listed(world, { state: { state: ContainerState.CONTAINER_RUNNING } }), ['one']);
  assert.deepEqual(await listed(world, { labelSelector: { app: 'a' } }), ['one', 'two']);
  assert.deepEqual(await listed(world, { labelSelector: { app: 'a', tier: 'x' }, podSandboxId: 'pod2' }), []);
});

test('updateContainerResources() reaches the kernel, the bundle and the record', async () => {
  const world = await createContainerWorld();
  const { updateContainerResources, containerStatus, createContainer } = world.containers.verbs;
  const linux = LinuxContainerResources.create({ cpuShares: 512n, memoryLimitInBytes: 1000n });
  const update = (containerId: string) =>
    updateContainerResources(UpdateContainerResourcesRequest.create({ containerId, linux }), signal);

  const running = await runContainer(world);
  await update(running);
  assert.deepEqual(world.oci.containers.get(running)?.resources?.cpu, { shares: 512 });
  const { status } = await containerStatus({ containerId: running, verbose: false }, signal);
  assert.equal(status?.resources?.linux?.memoryLimitInBytes, 1000n);

  const { containerId } = await createContainer(createRequest({ metadata: { name: 'new' } }), signal);
  await update(containerId);
  const config = JSON.parse(await world.host.fs.readText(`/run/containers/${containerId}/config.json`));
  assert.equal(config.linux.resources.cpu.shares, 512);
  assert.ok(config.linux.seccomp);

  world.oci.nextUpdateError = 'invalid argument';
  await assert.rejects(update(running), { code: 'Unknown', message: 'failed to update resources: invalid argument' });
  await assert.rejects(update('other'), { code: 'NotFound' });
});

test('updateContainerResources() keeps the files of cgroup v2 that it does not name', async () => {
  const world = await createContainerWorld();
  const linux = (unified: Record<string, string>) => LinuxContainerResources.create({ unified });
  const first = { 'memory.oom.group': '1', 'memory.swap.max': '0', 'io.weight': '50' };
  const containerId = await runContainer(world, { linux: { resources: linux(first) } });
  await world.containers.verbs.updateContainerResources(
    UpdateContainerResourcesRequest.create({ containerId, linux: linux({ 'memory.high': '4096' }) }),
    signal,
  );
  const expected = { ...first, 'memory.high': '4096' };
  assert.deepEqual(world.oci.containers.get(containerId)?.resources?.unified, expected);
  const { status, info } = await world.containers.verbs.containerStatus({ containerId, verbose: true }, signal);
  assert.deepEqual(status?.resources?.linux?.unified, expected);
  assert.deepEqual(JSON.parse(info['info'] ?? '{}').config.linux.resources.unified, expected);
});

test('updateContainerResources() calls plugins, and applies their updates of other containers', async () => {
  let other = '';
  const world = await createContainerWorld({
    nri: {
      updateContainer: async (_pod, _container, resources) => ({
        resources: { ...resources, cpu: { shares: 3 } },
        updates: [
          {
            containerId: other,
            resources: { devices: [], cpu: { cpus: '1' }, unified: { 'io.weight': '10' } },
            ignoreFailure: false,
          },
          { containerId: 'gone', resources: { devices: [] }, ignoreFailure: true },
        ],
      }),
    },
  });
  const id = await runContainer(world);
  const unified = { 'memory.oom.group': '1' };
  const resources = LinuxContainerResources.create({ cpuShares: 2n, unified });
  other = await runContainer(world, { metadata: { name: 'other' }, linux: { resources } });
  const linux = LinuxContainerResources.create({ cpuShares: 512n });
  await world.containers.verbs.updateContainerResources(
    UpdateContainerResourcesRequest.create({ containerId: id, linux }),
    signal,
  );
  assert.deepEqual(world.oci.containers.get(id)?.resources?.cpu, { shares: 3 });
  assert.deepEqual(world.oci.containers.get(other)?.resources?.cpu, { shares: 2, cpus: '1' });
  assert.deepEqual(world.oci.containers.get(other)?.resources?.unified, { ...unified, 'io.weight': '10' });
});

test('execSync() limits its output to one gRPC message', async () => {
  const world = await createContainerWorld();
  const containerId = await runContainer(world);
  const text = 'x'.repeat(12 * 1024 * 1024);
  world.oci.onExec = () => ({ exitCode: 0, stdout: text, stderr: text });
  const answer = await world.containers.verbs.execSync({ containerId, cmd: ['a'], timeout: 0n }, signal);
  assert.equal(answer.stdout.length, text.length);
  assert.ok(ExecSyncResponse.encode(answer).finish().length <= 16 * 1024 * 1024);
});

test('execSync() keeps only the output that an agent in this process uses', async () => {
  const world = await createContainerWorld();
  const containerId = await runContainer(world);
  world.oci.onExec = () => ({ exitCode: 0, stdout: 'x'.repeat(100), stderr: 'y'.repeat(100) });
  const request = { containerId, cmd: ['a'], timeout: 0n, maxStreamBytes: 10 };
  const { stdout, stderr } = await world.containers.verbs.execSync(request, signal);
  assert.deepEqual([stdout.length, stderr.length], [10, 10]);
});

test('execSync() requires a running container, and reports a timeout by its code', async () => {
  const world = await createContainerWorld();
  const containerId = await runContainer(world);
  const { execSync, stopContainer } = world.containers.verbs;
  world.oci.onExec = (_, { args }) => ({ exitCode: 3, stdout: args.join(' ') });
  const answer = await execSync({ containerId, cmd: ['a', 'b'], timeout: 0n }, signal);
  assert.deepEqual([answer.exitCode, new TextDecoder().decode(answer.stdout)], [3, 'a b']);

  world.oci.onExec = () => ({ exitCode: 0, runsForMs: 10_000 });
  const late = assert.rejects(execSync({ containerId, cmd: ['a'], timeout: 2n }, signal), {
    code: 'DeadlineExceeded',
    message: 'failed to exec in container: timeout 2s exceeded: context deadline exceeded',
  });
  await world.host.clock.advance(2000);
  await late;
  await assert.rejects(execSync({ containerId, cmd: [], timeout: 0n }, signal), { code: 'InvalidArgument' });
  await assert.rejects(execSync({ containerId: 'other', cmd: ['a'], timeout: 0n }, signal), { code: 'NotFound' });
  await stopContainer({ containerId, timeout: 0n }, signal);
  await assert.rejects(execSync({ containerId, cmd: ['a'], timeout: 0n }, signal), { code: 'FailedPrecondition' });
});

test('reopenContainerLog() requires a running container', async () => {
  const world = await createContainerWorld();
  const containerId = await runContainer(world);
  const { reopenContainerLog, stopContainer } = world.containers.verbs;
  await reopenContainerLog({ containerId }, signal);
  assert.equal(world.oci.containers.get(containerId)?.logReopened, 1);
  await stopContainer({ containerId, timeout: 0n }, signal);
  await assert.rejects(reopenContainerLog({ containerId }, signal), { code: 'FailedPrecondition' });
});
