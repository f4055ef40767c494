import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatNanoTime } from '../../base/rfc3339.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { LogUsages } from './log-usages.ts';

const never = new AbortController().signal;
const FOLDER = '/logs/default_web_u1';
const POD = { uid: 'u1', name: 'web', namespace: 'default', containers: ['main', 'silent'] };

async function setUp(life = never) {
  const host = createMemoryHost();
  const { fs, clock } = host;
  await fs.makeDirectory(`${FOLDER}/main`);
  await fs.makeDirectory('/kubelet/pods/u1');
  await fs.writeFile(`${FOLDER}/main/0.log`, 'x'.repeat(5000));
  await fs.writeFile(`${FOLDER}/main/0.log.20261116-180000.gz`, 'x');
  await fs.writeFile('/kubelet/pods/u1/etc-hosts', 'x');
  return { fs, clock, logs: new LogUsages({ fs, clock, rootDir: '/kubelet', podLogsDir: '/logs' }, life) };
}

test('the logs of a container count with rotated files; other files of the pod count for the pod', async () => {
  const { fs, clock, logs } = await setUp();
  await fs.writeFile(`${FOLDER}/note`, 'x');
  const files = (await logs.measured([POD], never)).get('u1');
  const time = formatNanoTime(BigInt(clock.now()) * 1_000_000n);
  assert.deepEqual([...(files?.logs ?? [])], [['main', { time, usedBytes: 12288, inodesUsed: 2 }]]);
  assert.deepEqual(files?.others, { time, usedBytes: 8192, inodesUsed: 2 });
});

test('logs are measured in the background, and again after ten seconds', async () => {
  const { fs, clock, logs } = await setUp();
  assert.equal(logs.latest([POD]).size, 0);
  await clock.advance(1);
  const used = () => logs.latest([POD]).get('u1')?.logs.get('main')?.usedBytes;
  assert.equal(used(), 12288);
  await fs.writeFile(`${FOLDER}/main/1.log`, 'x');
  await clock.advance(5_000);
  assert.equal(used(), 12288);
  await clock.advance(5_000);
  used();
  await clock.advance(1);
  assert.equal(used(), 16384);
});

test('a new pod is measured at once, without the others', async () => {
  const { fs, logs } = await setUp();
  await logs.measured([POD], never);
  await fs.writeFile(`${FOLDER}/main/1.log`, 'x');
  const both = await logs.measured([POD, { ...POD, uid: 'u2' }], never);
  assert.equal(both.get('u1')?.logs.get('main')?.usedBytes, 12288);
  assert.deepEqual([...(both.get('u2')?.logs.keys() ?? [])], []);
});

test('a pod that is gone is forgotten; one that cannot be measured is missing', async () => {
  const { fs, clock, logs } = await setUp();
  await logs.measured([POD], never);
  await clock.advance(10_000);
  fs.errors.failNext('readDirectory', 'EIO');
  logs.latest([{ ...POD, uid: 'u2' }]);
  await clock.advance(1);
  assert.deepEqual([...logs.latest([{ ...POD, uid: 'u2' }]).keys()], []);
});
