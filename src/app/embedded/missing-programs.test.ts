import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { missingForLocalRuntime, missingText } from './missing-programs.ts';

const NEEDED = [
  ...['/usr/bin/conmon', '/usr/bin/crun', '/usr/sbin/ip', '/usr/bin/catatonit', '/bin/busybox'],
  ...['/usr/lib/cni/bridge', '/usr/lib/cni/host-local'],
];

async function missingOn(files: readonly string[]): Promise<string | undefined> {
  const { fs } = createMemoryHost();
  for (const path of files) {
    await fs.makeDirectory(path.slice(0, path.lastIndexOf('/')));
    await fs.writeFile(path, '');
  }
  return missingText(await missingForLocalRuntime(fs));
}

test('nodelet run needs no program for NAT to start: only some pods need one', async () => {
  assert.equal(await missingOn(NEEDED), undefined);
});

test('CNI plugins of either folder are enough', async () => {
  assert.equal(await missingOn(NEEDED.map((path) => path.replace('/usr/lib/cni', '/opt/cni/bin'))), undefined);
});

test('all missing programs are named at once', async () => {
  assert.equal(
    await missingOn(NEEDED.filter((path) => !/crun|cni|\/ip$/.test(path))),
    "crun or runc, ip, the CNI plugin bridge and the CNI plugin host-local are not installed; run 'make setup'",
  );
});
