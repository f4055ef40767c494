import assert from 'node:assert/strict';
import test from 'node:test';
import type { VolumeMount } from '../../api/generated/core-v1.ts';
import { createMemoryHost, type MemoryHost } from '../../host/fake/memory-host.ts';
import { exampleContainer, examplePod } from '../sync/config/pod.fixture.ts';
import { bindSubPaths, subPathOf } from './sub-paths.ts';

const VOLUME = '/v/data';
const TARGETS = '/k/pods/u1/volume-subpaths/data/web';
const volumes = new Map([['data', { path: VOLUME, readOnly: false }]]);
const environment = new Map([
  ['POD', 'hello'],
  ['EMPTY', ''],
  ['UP', '..'],
  ['ROOT', '/etc'],
]);
const variable = (name: string): string | undefined => environment.get(name);

async function machine(): Promise<MemoryHost> {
  const host = createMemoryHost();
  await host.fs.makeDirectory(VOLUME, 0o3775);
  await host.fs.makeDirectory('/etc');
  return host;
}

function bind(host: MemoryHost, ...mounts: Partial<VolumeMount>[]): Promise<ReadonlyMap<number, string>> {
  const volumeMounts = mounts.map((mount) => ({ name: 'data', mountPath: '/x', ...mount }));
  const deps = { ...host, settings: { rootDir: '/k' } };
  return bindSubPaths(examplePod(), { ...exampleContainer, volumeMounts }, volumes, variable, deps);
}

const paths: Record<string, { mount: Partial<VolumeMount>; path?: string; fault?: string }> = {
  'empty for a mount of the whole volume': { mount: {}, path: '' },
  'the path': { mount: { subPath: 'a/b' }, path: 'a/b' },
  'the path without expansion': { mount: { subPath: '$(POD)' }, path: '$(POD)' },
  'the expanded expression': { mount: { subPathExpr: 'logs/$(POD)/$$(POD)' }, path: 'logs/hello/$(POD)' },
  'no expression without a value': {
    mount: { subPathExpr: '$(NONE)/$(POD)/$(EMPTY)/$(ALSO)' },
    fault: 'missing value for ALSO, EMPTY, NONE',
  },
  'no absolute path': {
    mount: { subPathExpr: '$(ROOT)/x' },
    fault: 'error SubPath `/etc/x` must not be an absolute path',
  },
  'no parent path': {
    mount: { subPathExpr: 'a/$(UP)' },
    fault: "unable to provision SubPath `a/..`: must not contain '..'",
  },
};

for (const [what, { mount, path, fault }] of Object.entries(paths)) {
  test(`subPathOf() is ${what}`, () => {
    const answer = (): string => subPathOf({ name: 'data', mountPath: '/x', ...mount }, variable);
    if (fault === undefined) return assert.equal(answer(), path);
    const expected = { reason: 'CreateContainerConfigError', message: fault, eventMessage: `Error: ${fault}` };
    return assert.throws(answer, expected);
  });
}

test('bindSubPaths() binds each subPath to its own path, by the index of its mount', async () => {
  const host = await machine();
  await host.fs.writeFile(`${VOLUME}/file`, 'text');
  const bound = await bind(host, {}, { subPath: 'file' }, { subPathExpr: '$(POD)/sub' });
  assert.deepEqual(
    [...bound],
    [
      [1, `${TARGETS}/1`],
      [2, `${TARGETS}/2`],
    ],
  );
  assert.equal(await host.fs.readText(`${TARGETS}/1`), 'text');
  await host.fs.writeFile(`${TARGETS}/2/new`, '');
  assert.ok(await host.fs.stat(`${VOLUME}/hello/sub/new`));
});

test('bindSubPaths() creates missing directories with the mode of the volume, sticky and setgid bits included', async () => {
  const host = await machine();
  await bind(host, { subPath: 'a/b' });
  const modes = await Promise.all(['a', 'a/b'].map(async (path) => (await host.fs.stat(`${VOLUME}/${path}`))?.mode));
  assert.deepEqual(modes, [0o3775, 0o3775]);
});

test('bindSubPaths() may be repeated: the next start gets the current directory', async () => {
  const host = await machine();
  const { fs } = host;
  await fs.writeFile(`${VOLUME}/old`, 'old');
  await fs.writeFile(`${VOLUME}/new`, 'new');
  await fs.symbolicLink('old', `${VOLUME}/link`);
  await bind(host, { subPath: 'link' });
  await bind(host, { subPath: 'link' });
  assert.equal(await fs.readText(`${TARGETS}/0`), 'old');
  await fs.remove(`${VOLUME}/link`);
  await fs.symbolicLink('new', `${VOLUME}/link`);
  await bind(host, { subPath: 'link' });
  assert.equal(await fs.readText(`${TARGETS}/0`), 'new');
  const targets = (await host.mounts.list()).map(({ target }) => target);
  assert.deepEqual(targets, ['/', `${TARGETS}/0`]);
});

const attacks: Record<
  string,
  { link: string; subPath: string; fault: 'prepare subPath' | 'create subPath directory' }
> = {
  'a link to the host’s root': { link: '/', subPath: 'link', fault: 'prepare subPath' },
  'a link to a directory of the host': { link: '/etc', subPath: 'link', fault: 'prepare subPath' },
  'a link upwards': { link: '../../etc', subPath: 'link', fault: 'prepare subPath' },
  'a new directory behind a link': { link: '/etc', subPath: 'link/new', fault: 'create subPath directory' },
  'a dangling link': { link: '/etc/none', subPath: 'link', fault: 'create subPath directory' },
  'a link to itself': { link: 'link', subPath: 'link', fault: 'prepare subPath' },
};

for (const [what, { link, subPath, fault }] of Object.entries(attacks)) {
  test(`bindSubPaths() rejects ${what} without revealing the target`, async () => {
    const host = await machine();
    await host.fs.symbolicLink(link, `${VOLUME}/link`);
    const message = `failed to ${fault} for volumeMount "data" of container "web"`;
    await assert.rejects(bind(host, { subPath }), { reason: 'CreateContainerConfigError', message });
    assert.deepEqual(await host.fs.readDirectory('/etc'), []);
    assert.equal((await host.mounts.list()).length, 1);
  });
}
