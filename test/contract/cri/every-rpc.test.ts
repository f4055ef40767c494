import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type CriConnection, connectCri } from '../../../src/cri/client.ts';
import type { CriServer } from '../../../src/cri/server.ts';
import { buildCri, criMethods, erasedCalls, type Method } from '../../../src/cri/services.ts';
import { messageFiller, requestAndResponse } from './filled-message.ts';
import { serveForTest } from './serve-for-test.ts';

const filled = messageFiller();
const types = requestAndResponse();
const signal = new AbortController().signal;

function typesOf(method: Method) {
  const found = types.get(method.name);
  assert.ok(found, `${method.name} is not in the table`);
  return { request: filled(found.request), response: filled(found.response) };
}

/** Answers each RPC with every field set, if the request has every field set. */
const echo = buildCri({
  unary: (method) => async (request) => {
    assert.deepEqual(request, typesOf(method).request);
    return typesOf(method).response;
  },
  stream: (method) =>
    async function* (request) {
      assert.deepEqual(request, typesOf(method).request);
      yield typesOf(method).response;
      yield typesOf(method).response;
    },
});

let server: CriServer;
let client: CriConnection;

before(async () => {
  const served = await serveForTest(echo);
  server = served.server;
  client = connectCri(served.endpoint, served.options);
});

after(async () => {
  client.close();
  await server.close();
});

test('the table and the definitions have the same RPCs', () => {
  assert.deepEqual(new Set(criMethods().map((method) => method.name)), new Set(types.keys()));
  assert.equal(criMethods().length, 41);
});

for (const method of criMethods()) {
  test(`${method.name} transfers every field of request and response`, async () => {
    const { request, response } = typesOf(method);
    if (method.responseStream) {
      const messages = await Array.fromAsync(erasedCalls(client).stream(method)(request, signal));
      assert.deepEqual(messages, [response, response]);
    } else {
      assert.deepEqual(await erasedCalls(client).unary(method)(request, signal), response);
    }
  });
}
