import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodSpec } from '../../../api/generated/core-v1.ts';
import { createMemoryHost } from '../../../host/fake/memory-host.ts';
import { PodEvents } from '../../events/pod-events.ts';
import { ManifestObjects } from '../../objects/manifest-objects.ts';
import { examplePod } from '../../sync/config/pod.fixture.ts';
import { PodVolumes } from '../pod-volumes.ts';
import { volumeDeps } from '../volumes.fixture.ts';
import { FIRST_PROJECT } from './project-files.ts';
import { VolumeQuotas } from './volume-quotas.ts';

const ROOT = '/k';
const signal = new AbortController().signal;

async function machine(counts = true) {
  const host = createMemoryHost();
  const { fs, projectQuotas: quotas } = host;
  await fs.makeDirectory(ROOT);
  await fs.makeDirectory('/etc');
  if (counts) quotas.countBelow(ROOT);
  const warnings: string[] = [];
  const log = { debug() {}, info() {}, error() {}, warn: (message: string) => void warnings.push(message) };
  const objects = new ManifestObjects({ onChange: () => undefined });
  const deps = volumeDeps(host, { rootDir: ROOT, objects, events: new PodEvents(host.clock) });
  const own = new VolumeQuotas({ quotas, fs, log });
  const volumes = new PodVolumes({ ...deps, quotas: own });
  const projects = async (): Promise<string> => ((await fs.lstat('/etc/projects')) ? fs.readText('/etc/projects') : '');
  return { ...host, volumes, own, warnings, projects };
}

function podOf(uid: string, spec: Partial<PodSpec> = { hostUsers: false }) {
  const container = { volumeMounts: [{ name: 'data', mountPath: '/data' }] };
  return examplePod({ metadata: { uid }, container, spec: { volumes: [{ name: 'data', emptyDir: {} }], ...spec } });
}

const pathOf = (uid: string): string => `${ROOT}/pods/${uid}/volumes/kubernetes.io~empty-dir/data`;

test('an emptyDir of a pod in a user namespace gets a project of its own, until the pod is gone', async () => {
  const { volumes, fs, projectQuotas, projects } = await machine();
  for (const uid of ['u1', 'u2']) await volumes.prepare(podOf(uid), signal);
  assert.equal(await projects(), `${FIRST_PROJECT}:${pathOf('u1')}\n${FIRST_PROJECT + 1}:${pathOf('u2')}\n`);
  assert.equal(await projectQuotas.projectOf(pathOf('u2')), FIRST_PROJECT + 1);
  await fs.writeFile(`${pathOf('u1')}/file`, 'x'.repeat(100));
  assert.deepEqual(await volumes.countedUsage(pathOf('u1')), await fs.treeUsage(pathOf('u1'), signal));
  await volumes.release(podOf('u1'), signal);
  assert.equal(await projects(), `${FIRST_PROJECT + 1}:${pathOf('u2')}\n`);
  assert.equal(await fs.readText('/etc/projid'), `volume${FIRST_PROJECT + 1}:${FIRST_PROJECT + 1}\n`);
});

const withoutProject: Readonly<Record<string, [spec: Partial<PodSpec>, counts: boolean]>> = {
  'of a pod with the users of the host': [{}, true],
  'in memory': [{ hostUsers: false, volumes: [{ name: 'data', emptyDir: { medium: 'Memory' } }] }, true],
  'on a file system that does not count': [{ hostUsers: false }, false],
};

for (const [what, [spec, counts]] of Object.entries(withoutProject)) {
  test(`an emptyDir ${what} gets no project`, async () => {
    const { volumes, projects } = await machine(counts);
    await volumes.prepare(podOf('u1', spec), signal);
    assert.equal(await projects(), '');
    assert.equal(await volumes.countedUsage(pathOf('u1')), undefined);
  });
}

test('the project of a volume outlives the agent, and kubelet gives it to nothing else', async () => {
  const { volumes, own, fs, projects } = await machine();
  await volumes.prepare(podOf('u1'), signal);
  const before = await projects();
  await own.assign(podOf('u1'), pathOf('u1'));
  assert.equal(await projects(), before);
  await fs.writeFile('/etc/projects', `${before}${FIRST_PROJECT + 1}:/elsewhere\n`);
  await volumes.prepare(podOf('u2'), signal);
  assert.match(await projects(), new RegExp(`^${FIRST_PROJECT + 2}:${pathOf('u2')}$`, 'm'));
});

test('a project that the files do not name for the directory is not asked: a container may have set it', async () => {
  const { volumes, projectQuotas } = await machine();
  await volumes.prepare(podOf('u1', {}), signal);
  await projectQuotas.setProject(pathOf('u1'), FIRST_PROJECT + 5);
  assert.equal(await volumes.countedUsage(pathOf('u1')), undefined);
});

test('a volume whose project cannot be set is measured by its files', async () => {
  const { volumes, fs, warnings } = await machine();
  fs.errors.failNext('writeAtomic', 'EROFS', '/etc/projid');
  await volumes.prepare(podOf('u1'), signal);
  assert.equal(await volumes.countedUsage(pathOf('u1')), undefined);
  assert.deepEqual(warnings, ['cannot count what a volume uses by a quota: its files are measured']);
});
