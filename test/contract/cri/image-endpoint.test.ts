/** An image service at another socket than the runtime's. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { connectEndpoint } from '../../../src/app/start-runtime.ts';
import { ImageStatusResponse, VersionResponse } from '../../../src/cri/generated/runtime-v1.ts';
import { forever, runtimeWith } from './partial-runtime.ts';
import { type Served, serveForTest } from './serve-for-test.ts';

async function serve(t: TestContext, name: string): Promise<Served> {
  const cri = runtimeWith({ version: async () => VersionResponse.fromPartial({ runtimeName: name }) });
  const imageStatus = async () => ImageStatusResponse.fromPartial({ info: { of: name } });
  const served = await serveForTest({ ...cri, images: { ...cri.images, imageStatus } });
  t.after(() => served.server.close());
  return served;
}

test('images come from the image service, containers from the runtime', async (t) => {
  const [first, second] = [await serve(t, 'first'), await serve(t, 'second')];
  const expected = { '': 'first', [first.endpoint]: 'first', [second.endpoint]: 'second' };
  for (const [imageEndpoint, name] of Object.entries(expected)) {
    const connection = connectEndpoint(first.endpoint, first.options, imageEndpoint);
    t.after(() => connection.close());
    assert.equal((await connection.runtime.version({ version: '' }, forever)).runtimeName, 'first');
    const { info } = await connection.images.imageStatus({ image: undefined, verbose: true }, forever);
    assert.deepEqual(info, { of: name });
    assert.equal(connection.endpoint, first.endpoint);
  }
});
