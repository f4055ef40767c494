import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CriError } from '../../cri/cri-error.ts';
import type { HttpHandler, HttpResponse, Network } from '../../host/network.ts';
import { imageApi, imageClient } from './image-api.ts';
import type { ImageOperations } from './image-operations.ts';

const signal = new AbortController().signal;
const NAMED = { name: 'localhost/a:1', id: 'sha256:1' };

/** Both ends without a socket between them. */
function joined(operations: Partial<ImageOperations>): ImageOperations {
  const refuse = async (): Promise<never> => assert.fail('nobody asked for this');
  const all = { load: refuse, build: refuse, tag: refuse, list: refuse, remove: refuse, ...operations };
  return imageClient(networkTo(imageApi(all)), '/run/nodelet/runtime.sock');
}

function networkTo(handler: HttpHandler): Pick<Network, 'request'> {
  return {
    async request({ target, method, path, body = '' }): Promise<HttpResponse> {
      assert.deepEqual(target, { socketPath: '/run/nodelet/runtime.sock' });
      const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
      const sent = (async function* () {
        yield bytes;
      })();
      const answer = await handler({ method, path, query: new URLSearchParams(), body: sent, signal });
      assert.equal(typeof answer.body, 'string');
      const received = (async function* () {
        yield new TextEncoder().encode(String(answer.body));
      })();
      return { status: answer.status, headers: {}, body: received };
    },
  };
}

test('imageClient() asks imageApi() and gets its answer', async () => {
  const asked: unknown[] = [];
  const images = joined({
    async tag(request) {
      asked.push(request);
      return NAMED;
    },
  });
  assert.deepEqual(await images.tag({ image: 'a', name: 'b' }, signal), NAMED);
  assert.deepEqual(asked, [{ image: 'a', name: 'b' }]);
});

test('imageClient() rejects as the operation did', async () => {
  const images = joined({
    async load() {
      throw new CriError('InvalidArgument', 'app.tar is no image archive');
    },
  });
  await assert.rejects(images.load({ path: '/app.tar' }, signal), {
    name: 'CriError',
    code: 'InvalidArgument',
    message: 'app.tar is no image archive',
  });
});

test('imageApi() knows nothing else', async () => {
  const api = imageApi(joined({}));
  const body = (async function* () {})();
  const request = { method: 'GET', path: '/v1/images/list', query: new URLSearchParams(), body, signal };
  assert.deepEqual(await api(request), { status: 404, body: 'not found\n' });
});
