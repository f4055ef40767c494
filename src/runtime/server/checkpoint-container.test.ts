import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Command, CommandResult } from '../../host/processes.ts';
import { createContainerWorld, runContainer, signal } from '../container/fake/container-world.ts';
import { type CheckpointDeps, checkpointContainer } from './checkpoint-container.ts';

const finished = (exitCode: number, text = ''): CommandResult => ({
  exitCode,
  stdout: Buffer.from(text),
  stderr: new Uint8Array(),
});

/** A host where criu works, unless `answers` overrides an output. */
async function world(answers: { readonly [program: string]: CommandResult } = {}) {
  const base = await createContainerWorld();
  const { fs, clock } = base.host;
  const containerId = await runContainer(base);
  const commands: string[] = [];
  const answer = (program: string): CommandResult => answers[program] ?? finished(0, 'crun 2 +CRIU');
  const deps: CheckpointDeps = {
    clock,
    fs,
    log: { debug() {}, info() {}, warn() {}, error() {} },
    paths: base.paths,
    runtimes: { at: () => base.oci, handler: () => base.oci, handlers: [] },
    store: base.containers.records,
    ociCommand: async ({ program }, args) => {
      commands.push([program, ...args].join(' '));
      return answers['checkpoint'] ?? finished(0);
    },
    processes: {
      run: async ({ program, args }: Command) => {
        if (program === 'tar') await fs.writeFile(args[3] ?? '', 'archive');
        return answer(program);
      },
    },
  };
  await fs.makeDirectory('/usr/sbin');
  await fs.writeFile('/usr/sbin/criu', '');
  await fs.makeDirectory('/checkpoints');
  const call = (location = '/checkpoints/a.tar', id = containerId) =>
    checkpointContainer(deps)({ containerId: id, location, timeout: 0n }, signal);
  return { ...base, commands, call, containerId };
}

test('checkpointContainer() writes an archive and leaves nothing beside it', async () => {
  const { call, host, commands, containerId } = await world();
  await call();
  const folder = `/checkpoints/.checkpoint-${containerId}/files`;
  assert.deepEqual(commands, [
    `/usr/bin/crun checkpoint --image-path ${folder}/checkpoint --work-path ${folder} --leave-running ${containerId}`,
  ]);
  assert.deepEqual(await host.fs.readDirectory('/checkpoints'), [{ name: 'a.tar', kind: 'file' }]);
  assert.equal((await host.fs.stat('/checkpoints/a.tar'))?.mode, 0o600);
});

test('checkpointContainer() keeps the previous archive until the new one is complete', async () => {
  const failing = await world({ tar: finished(1, 'disk full') });
  await failing.host.fs.writeFile('/checkpoints/a.tar', 'earlier');
  await assert.rejects(failing.call(), { message: 'cannot checkpoint container: disk full' });
  assert.equal(await failing.host.fs.readText('/checkpoints/a.tar'), 'earlier');
  const working = await world();
  await working.host.fs.writeFile('/checkpoints/a.tar', 'earlier');
  await working.call();
  assert.equal(await working.host.fs.readText('/checkpoints/a.tar'), 'archive');
});

test('checkpointContainer() removes work directories of a killed process', async () => {
  const { call, host, containerId } = await world();
  for (const id of [containerId, 'f'.repeat(64)]) {
    await host.fs.makeDirectory(`/checkpoints/.checkpoint-${id}`);
    await host.fs.writeFile(`/checkpoints/.checkpoint-${id}/pages-1.img`, '');
  }
  await host.fs.makeDirectory('/checkpoints/.checkpoint-notes');
  await call();
  const names = (await host.fs.readDirectory('/checkpoints')).map(({ name }) => name).sort();
  assert.deepEqual(names, ['.checkpoint-notes', 'a.tar']);
});

test('checkpointContainer() reports why it is not possible', async () => {
  const without = await world({ '/usr/bin/crun': finished(0, 'crun 1.8 +SECCOMP') });
  await assert.rejects(without.call(), { code: 'Unimplemented', message: /crun was built without criu/ });
  const broken = await world({ '/usr/sbin/criu': finished(1, 'Error: no vdso\n') });
  await assert.rejects(broken.call(), { code: 'Unimplemented', message: /does not work .* Error: no vdso/ });
  const none = await world();
  await none.host.fs.remove('/usr/sbin/criu');
  await assert.rejects(none.call(), { code: 'Unimplemented', message: /criu is not installed/ });
});

test('checkpointContainer() leaves nothing when it fails, and requires a running container', async () => {
  const failing = await world({ checkpoint: finished(1, 'cannot dump') });
  await assert.rejects(failing.call(), { code: 'Unknown', message: 'cannot checkpoint container: cannot dump' });
  assert.deepEqual(await failing.host.fs.readDirectory('/checkpoints'), []);
  await assert.rejects(failing.call('relative'), { code: 'InvalidArgument' });
  await assert.rejects(failing.call('/x', 'other'), { code: 'NotFound' });
  await failing.containers.verbs.stopContainer({ containerId: failing.containerId, timeout: 0n }, signal);
  await assert.rejects(failing.call(), { code: 'FailedPrecondition' });
});
