import assert from 'node:assert/strict';
import test from 'node:test';
import { silentLog } from '../../base/log.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { NodeLogins } from './node-logins.ts';

const settings = { rootDir: '/var/lib/kubelet', workingDir: '/work', homeDir: '/root' };
const never = new AbortController().signal;

/** Each file has its own path as the user name. */
async function machine(...files: string[]) {
  const host = createMemoryHost();
  for (const path of files) {
    await host.fs.makeDirectory(path.replace(/\/[^/]*$/, '') || '/');
    const entry = { [path]: { username: 'u' } };
    await host.fs.writeFile(path, JSON.stringify(path.endsWith('.dockercfg') ? entry : { auths: entry }));
  }
  return host;
}

const IN_ORDER = [
  '/var/lib/kubelet/config.json',
  '/work/config.json',
  '/root/.docker/config.json',
  '/.docker/config.json',
  '/var/lib/kubelet/.dockercfg',
  '/work/.dockercfg',
  '/root/.dockercfg',
  '/.dockercfg',
];

for (const [index, path] of IN_ORDER.entries()) {
  test(`NodeLogins uses ${path} if no earlier file exists`, async () => {
    const host = await machine(...IN_ORDER.slice(index));
    const logins = new NodeLogins({ ...host, log: silentLog, settings });
    assert.deepEqual([...(await logins.config(never)).keys()], [path]);
  });
}

test('NodeLogins skips an invalid file', async () => {
  const host = await machine('/root/.docker/config.json');
  await host.fs.makeDirectory('/work');
  await host.fs.writeFile('/work/config.json', '{');
  const logins = new NodeLogins({ ...host, log: silentLog, settings });
  assert.deepEqual([...(await logins.config(never)).keys()], ['/root/.docker/config.json']);
});

test('NodeLogins reads the files again after five minutes', async () => {
  const host = await machine();
  const logins = new NodeLogins({ ...host, log: silentLog, settings: { rootDir: '/' } });
  assert.equal((await logins.config(never)).size, 0);
  await host.fs.writeFile('/.dockercfg', '{"gcr.io":{}}');
  await host.clock.advance(299_999);
  assert.equal((await logins.config(never)).size, 0);
  await host.clock.advance(1);
  assert.equal((await logins.config(never)).size, 1);
});
