import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RuntimeService } from '../../cri/services.ts';
import { execInContainer } from './exec-in-container.ts';

test('execInContainer() keeps 10 KiB of each stream, whatever the runtime returns', async () => {
  const requests: object[] = [];
  const response = new Uint8Array(16 * 1024 * 1024);
  const execSync: RuntimeService['execSync'] = async (request) => {
    requests.push(request);
    return { exitCode: 1, stdout: response.subarray(0, 8 * 1024 * 1024), stderr: response.subarray(8 * 1024 * 1024) };
  };
  const exec = execInContainer({ execSync });
  const { stdout, stderr } = await exec('c1', ['a'], 1500, new AbortController().signal);
  for (const each of [stdout, stderr]) {
    assert.deepEqual([each.byteLength, each.buffer.byteLength], [10 * 1024, 10 * 1024]);
  }
  assert.deepEqual(requests, [{ containerId: 'c1', cmd: ['a'], timeout: 2n, maxStreamBytes: 10 * 1024 }]);
});
