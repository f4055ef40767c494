import assert from 'node:assert/strict';
import test from 'node:test';
import { silentLog } from '../../base/log.ts';
import { CriError } from '../../cri/cri-error.ts';
import { Image, ListImagesResponse } from '../../cri/generated/runtime-v1.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { encodeIntent, encodePulled, recordFileName } from './pull-record.ts';
import { PullRecords } from './pull-records.ts';

const PULLING = '/kubelet/image_manager/pulling';
const PULLED = '/kubelet/image_manager/pulled';
const never = new AbortController().signal;
const everyPod = { kind: 'everyPod' } as const;
const secret = { uid: 'u', namespace: 'n', name: 's', credentialHash: 'h' };

/** A disk; each `records()` is a process on it. */
class Disk {
  readonly host = createMemoryHost({ startMs: 0 });
  readonly present: Image[] = [];
  listFails = false;

  records(life = never): PullRecords {
    const listImages = async () => {
      if (this.listFails) throw new CriError('Unavailable', 'gone');
      return ListImagesResponse.fromPartial({ images: this.present });
    };
    const { fs, clock } = this.host;
    const deps = { fs, clock, log: silentLog, images: { listImages }, settings: { rootDir: '/kubelet' } };
    return new PullRecords(deps, life);
  }

  async names(folder: string): Promise<string[]> {
    const entries = await this.host.fs.readDirectory(folder).catch(() => []);
    return entries.map(({ name }) => name);
  }

  async put(folder: string, name: string, text: string): Promise<void> {
    await this.host.fs.makeDirectory(folder);
    await this.host.fs.writeFile(`${folder}/${recordFileName(name)}`, text);
  }
}

test('PullRecords writes the intent before a pull, and the record after it', async () => {
  const disk = new Disk();
  const records = disk.records();
  assert.deepEqual(await records.evidence('app:1', 'sha256:1'), { kind: 'none' });
  await records.recordIntent('app:1');
  assert.equal(await disk.host.fs.readText(`${PULLING}/${recordFileName('app:1')}`), encodeIntent('app:1'));
  assert.deepEqual(await records.evidence('app:1', 'sha256:1'), { kind: 'intent' });
  await records.recordPulled('app:1', 'sha256:1', everyPod);
  assert.deepEqual(await disk.names(PULLING), []);
  const record = {
    lastUpdatedTime: '1970-01-01T00:00:00Z',
    imageRef: 'sha256:1',
    credentialMapping: { app: { nodePodsAccessible: true } },
  };
  assert.equal(await disk.host.fs.readText(`${PULLED}/${recordFileName('sha256:1')}`), encodePulled(record));
  assert.deepEqual(await records.evidence('app:1', 'sha256:1'), { kind: 'pulled', record });
  assert.deepEqual(
    await disk.records().evidence('app:1', 'sha256:1'),
    { kind: 'pulled', record },
    'and the next agent',
  );
  const { mode } = (await disk.host.fs.stat(`${PULLED}/${recordFileName('sha256:1')}`)) ?? assert.fail();
  assert.deepEqual([mode, (await disk.host.fs.stat(PULLED))?.mode], [0o600, 0o700]);
});

test('PullRecords keeps the intent until the last of several pulls has ended', async () => {
  const disk = new Disk();
  const records = disk.records();
  await Promise.all([records.recordIntent('a'), records.recordIntent('a')]);
  await records.recordPullFailed('a');
  assert.equal((await disk.names(PULLING)).length, 1);
  await records.recordPullFailed('a');
  assert.deepEqual(await disk.names(PULLING), []);
  assert.deepEqual(await records.evidence('a', 'r'), { kind: 'none' });
});

test('PullRecords knows after a crash that an image was being pulled', async () => {
  const disk = new Disk();
  await disk.records().recordIntent('gcr.io/app:1');
  assert.deepEqual(await disk.records().evidence('gcr.io/app:1', 'sha256:1'), { kind: 'intent' });

  disk.listFails = true;
  assert.deepEqual(await disk.records().evidence('gcr.io/app:1', 'sha256:1'), { kind: 'intent' });

  disk.listFails = false;
  disk.present.push(Image.fromPartial({ id: 'sha256:1', repoTags: ['gcr.io/app:1'] }));
  const evidence = await disk.records().evidence('gcr.io/other:1', 'sha256:1');
  assert.deepEqual(evidence, {
    kind: 'pulled',
    record: { lastUpdatedTime: '1970-01-01T00:00:00Z', imageRef: 'sha256:1' },
  });
  assert.deepEqual(await disk.names(PULLING), []);
});

test('PullRecords leaves a pull that is in flight at the end to the next process', async () => {
  const disk = new Disk();
  const life = new AbortController();
  const records = disk.records(life.signal);
  await records.recordIntent('gcr.io/app:1');
  life.abort(new Error('the agent ends'));
  await records.recordPullFailed('gcr.io/app:1');
  assert.deepEqual(await disk.records().evidence('gcr.io/app:1', 'sha256:1'), { kind: 'intent' });
});

test('PullRecords continues if an old intent cannot be resolved', async () => {
  const disk = new Disk();
  await disk.put(PULLED, 'other', encodePulled({ lastUpdatedTime: 'then', imageRef: 'other' }));
  await disk.records().recordIntent('gcr.io/app:1');
  disk.present.push(Image.fromPartial({ id: 'sha256:1', repoTags: ['gcr.io/app:1'] }));
  disk.host.fs.errors.failNext('writeAtomic', 'ENOSPC');
  const records = disk.records();
  assert.equal((await records.evidence('x', 'other')).kind, 'pulled');
  assert.deepEqual(await records.evidence('gcr.io/app:1', 'sha256:1'), { kind: 'intent' });
});

test('PullRecords keeps the intent when the record cannot be written', async () => {
  const disk = new Disk();
  const records = disk.records();
  await records.recordIntent('a');
  disk.host.fs.errors.failNext('writeAtomic', 'ENOSPC');
  await records.recordPulled('a', 'r', everyPod);
  assert.deepEqual(await records.evidence('a', 'r'), { kind: 'intent' });
  assert.deepEqual(await disk.records().evidence('a', 'r'), { kind: 'intent' });
});

test('PullRecords rejects if the intent cannot be written', async () => {
  const disk = new Disk();
  disk.host.fs.errors.failNext('writeAtomic', 'ENOSPC');
  await assert.rejects(disk.records().recordIntent('a'), { code: 'ENOSPC' });
});

test('PullRecords does not trust an unreadable file, and overwrites it', async () => {
  const disk = new Disk();
  await disk.put(PULLED, 'r', 'garbage');
  await disk.put(PULLING, 'a', 'garbage');
  const records = disk.records();
  assert.deepEqual(await records.evidence('b', 'r'), { kind: 'unreadable' });
  assert.deepEqual(await records.evidence('a', 'other'), { kind: 'unreadable' });
  await records.recordIntent('a');
  await records.recordPulled('a', 'r', { kind: 'secret', secret });
  const { record } = (await records.evidence('a', 'r')) as { record: { credentialMapping: object } };
  assert.deepEqual(record.credentialMapping, { a: { kubernetesSecrets: [secret] } });
  assert.deepEqual(await records.evidence('a', 'other'), { kind: 'none' });
});

test('PullRecords still trusts other files beside an unreadable one', async () => {
  const disk = new Disk();
  for (const imageRef of ['r', 's'])
    await disk.put(PULLED, imageRef, encodePulled({ lastUpdatedTime: 'then', imageRef }));
  disk.host.fs.errors.failNext('readText', 'EIO', `${PULLED}/${recordFileName('r')}`);
  const records = disk.records();
  assert.equal((await records.evidence('a', 'r')).kind, 'unreadable');
  assert.equal((await records.evidence('a', 's')).kind, 'pulled');
});

test('PullRecords retries after a failed read', async () => {
  const disk = new Disk();
  await disk.put(PULLED, 'r', encodePulled({ lastUpdatedTime: 'then', imageRef: 'r' }));
  disk.host.fs.errors.failNext('readDirectory', 'EIO');
  const records = disk.records();
  assert.deepEqual(await records.evidence('a', 'r'), { kind: 'unreadable' });
  assert.equal((await records.evidence('a', 'r')).kind, 'pulled');
});

test('PullRecords adds access, and writes only changes', async () => {
  const disk = new Disk();
  const records = disk.records();
  await records.recordAccess('a:1', 'r', { kind: 'secret', secret });
  await disk.host.clock.advance(60_000);
  await records.recordAccess('a:2', 'r', { kind: 'secret', secret });
  const { record } = (await records.evidence('a', 'r')) as { record: { lastUpdatedTime: string } };
  assert.equal(record.lastUpdatedTime, '1970-01-01T00:00:00Z');
});

test('PullRecords removes the records of removed images, not those of newer ones', async () => {
  const disk = new Disk();
  await disk.put(PULLED, 'old', encodePulled({ lastUpdatedTime: '2026-01-01T00:00:00Z', imageRef: 'old' }));
  const records = disk.records();
  await records.recordAccess('kept', 'kept', everyPod);
  await records.recordAccess('gone', 'gone', everyPod);
  await disk.host.clock.advance(10);
  const beganMs = disk.host.clock.monotonic();
  await records.recordAccess('new', 'new', everyPod);
  await records.prune(new Set(['kept']), beganMs);
  assert.deepEqual(new Set(await disk.names(PULLED)), new Set(['kept', 'new'].map(recordFileName)));
  assert.deepEqual(await records.evidence('gone', 'gone'), { kind: 'none' });
});

test('PullRecords keeps the record of an image that was removed and pulled again meanwhile', async () => {
  const disk = new Disk();
  const records = disk.records();
  await records.recordAccess('a', 'r', { kind: 'secret', secret });
  await disk.host.clock.advance(10);
  const beganMs = disk.host.clock.monotonic();
  await records.recordIntent('a');
  await records.recordPulled('a', 'r', { kind: 'secret', secret });
  await records.prune(new Set(), beganMs);
  assert.equal((await records.evidence('a', 'r')).kind, 'pulled');
});
