import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import { type PluginSockets, PluginSocketWatcher } from './plugin-sockets.ts';

const ROOT = '/k';
const FOLDER = `${ROOT}/plugins_registry`;

function watching(watch?: FileSystem['watch']) {
  const { fs, clock } = createMemoryHost();
  const watched = {
    makeDirectory: fs.makeDirectory.bind(fs),
    readDirectory: fs.readDirectory.bind(fs),
    stat: fs.stat.bind(fs),
    watch: watch ?? fs.watch.bind(fs),
  };
  const warnings: unknown[] = [];
  const log = { debug() {}, info() {}, warn: (_: string, fields: object = {}) => warnings.push(fields), error() {} };
  const end = new AbortController();
  let latest: PluginSockets = new Map();
  const done = (async () => {
    for await (const sockets of new PluginSocketWatcher(ROOT, { fs: watched, clock, log }).watch(end.signal))
      latest = sockets;
  })();
  const stop = async (): Promise<void> => {
    end.abort();
    await done;
  };
  const paths = (): string[] => [...latest.keys()].map((path) => path.slice(FOLDER.length + 1));
  return { fs, clock, warnings, paths, versionOf: (name: string) => latest.get(`${FOLDER}/${name}`), stop };
}

test('sockets are followed in folders and through links; other files, hidden names and linked folders are not', async () => {
  const { fs, clock, warnings, paths, stop } = watching();
  await clock.advance(1);
  for (const folder of ['a/b', '.hidden', 'linked']) await fs.makeDirectory(`${FOLDER}/${folder}`);
  fs.createSocket(`${FOLDER}/one.sock`, 0o600);
  fs.createSocket(`${FOLDER}/a/b/two.sock`, 0o600);
  fs.createSocket(`${FOLDER}/.hidden/no.sock`, 0o600);
  fs.createSocket(`${FOLDER}/.no.sock`, 0o600);
  await fs.writeFile(`${FOLDER}/file.sock`, '');
  await fs.symbolicLink(`${FOLDER}/one.sock`, `${FOLDER}/three.sock`);
  await fs.symbolicLink(`${FOLDER}/a`, `${FOLDER}/loop`);
  await fs.symbolicLink('/nowhere', `${FOLDER}/dangling`);
  await clock.advance(1);
  assert.deepEqual(paths(), ['a/b/two.sock', 'one.sock', 'three.sock']);
  await fs.removeTree(`${FOLDER}/a`);
  await clock.advance(1);
  assert.deepEqual(paths(), ['one.sock', 'three.sock']);
  await fs.makeDirectory(`${FOLDER}/a/b`);
  fs.createSocket(`${FOLDER}/a/b/again.sock`, 0o600);
  await clock.advance(1_000);
  assert.deepEqual(paths(), ['a/b/again.sock', 'one.sock', 'three.sock']);
  assert.deepEqual(warnings, []);
  await stop();
});

test('a socket that is replaced has another version', async () => {
  const { fs, clock, versionOf, stop } = watching();
  await clock.advance(1);
  fs.createSocket(`${FOLDER}/a.sock`, 0o600);
  await clock.advance(1);
  const before = versionOf('a.sock');
  await fs.changeMode(`${FOLDER}/a.sock`, 0o660);
  await clock.advance(1);
  assert.equal(versionOf('a.sock'), before);
  await fs.remove(`${FOLDER}/a.sock`);
  fs.createSocket(`${FOLDER}/a.sock`, 0o600);
  await clock.advance(1);
  assert.ok(before !== undefined && versionOf('a.sock') !== undefined);
  assert.notEqual(versionOf('a.sock'), before);
  await stop();
});

test('a folder that cannot be read is logged once and tried again', async () => {
  const { fs, clock, warnings, paths, stop } = watching();
  for (const _ of [1, 2, 3]) fs.errors.failNext('makeDirectory', 'EROFS', FOLDER);
  await clock.advance(2_500);
  assert.deepEqual([paths(), warnings.length], [[], 1]);
  await clock.advance(1_000);
  fs.createSocket(`${FOLDER}/a.sock`, 0o600);
  await clock.advance(1);
  assert.deepEqual([paths(), warnings.length], [['a.sock'], 1]);
  await stop();
});

test('sockets of a folder that cannot be watched are found every second; the error is logged once', async () => {
  // biome-ignore lint/correctness/useYield: a watch that fails before its first event
  const { fs, clock, warnings, paths, stop } = watching(async function* () {
    throw new FileSystemError('ENOSPC', 'watch', FOLDER);
  });
  await clock.advance(1);
  fs.createSocket(`${FOLDER}/a.sock`, 0o600);
  await clock.advance(5_000);
  assert.deepEqual([paths(), warnings.length], [['a.sock'], 1]);
  await fs.remove(`${FOLDER}/a.sock`);
  await clock.advance(1_000);
  assert.deepEqual(paths(), []);
  await stop();
});
