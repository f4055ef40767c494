import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { LogLinks, logLinkName } from './log-links.ts';

const FOLDER = '/var/log/containers';

function podOf(name: string) {
  return { metadata: { name, namespace: 'default', uid: `uid-${name}` }, spec: { containers: [] } };
}

async function setUp() {
  const { fs } = createMemoryHost();
  const links = new LogLinks({ fs, settings: { podLogsDir: '/var/log/pods', containerLogsDir: FOLDER } });
  await links.prepare();
  const found = async () => {
    if (!(await fs.stat(FOLDER))) return {};
    const entries = await fs.readDirectory(FOLDER);
    const targets = await Promise.all(entries.map(({ name }) => fs.readLink(`${FOLDER}/${name}`)));
    return Object.fromEntries(entries.map(({ name }, index) => [name, targets[index]]));
  };
  return { links, found };
}

test("a link has kubelet's name and points to the container log", async () => {
  const { links, found } = await setUp();
  await links.add(podOf('web'), 'main', 'c1', 'main/0.log');
  await links.add(podOf('web'), 'main', 'c1', 'main/0.log');
  assert.deepEqual(await found(), { 'web_default_main-c1.log': '/var/log/pods/default_web_uid-web/main/0.log' });
});

test('a long name is truncated to the file name limit', () => {
  const name = logLinkName(podOf('p'.repeat(253)), 'main', 'c'.repeat(64));
  assert.equal(name.length, 255);
  assert.ok(name.endsWith('.log'));
});

test('no link is created without a directory', async () => {
  const { fs } = createMemoryHost();
  const links = new LogLinks({ fs, settings: { podLogsDir: '/var/log/pods' } });
  await links.prepare();
  await links.add(podOf('web'), 'main', 'c1', 'main/0.log');
  assert.equal(await fs.stat('/var'), undefined);
});
