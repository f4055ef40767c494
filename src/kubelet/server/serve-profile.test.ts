import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import type { ServerResponse } from '../../host/network.ts';
import { serveProfile } from './serve-profile.ts';

async function setUp() {
  const host = createMemoryHost();
  await host.fs.makeDirectory('/proc/self');
  await host.fs.writeFile('/proc/self/cmdline', 'nodelet\0kubelet\0--v=2\0');
  const signal = new AbortController();
  const ask = (name: string, query = '') =>
    serveProfile(host, name, { query: new URLSearchParams(query), signal: signal.signal });
  return { ...host, ask, leave: () => signal.abort() };
}

async function bodyOf({ body }: ServerResponse): Promise<Buffer> {
  const chunks = typeof body === 'string' ? [body] : await Array.fromAsync(body);
  return Buffer.concat(chunks.map((chunk) => Buffer.from(chunk)));
}

const REFUSED: readonly (readonly [name: string, query: string, status: number, text: string])[] = [
  ['none', '', 404, 'Unknown profile'],
  ['heap/', '', 404, 'Unknown profile'],
  ['heap', 'seconds=x', 400, 'invalid value for "seconds" - must be a positive integer'],
  ['heap', 'seconds=0', 400, 'invalid value for "seconds" - must be a positive integer'],
  ['heap', 'seconds=1&debug=1', 400, 'seconds and debug params are incompatible'],
  ['profile', 'seconds=3601', 400, 'profile duration exceeds 3600 seconds'],
  ['trace', '', 500, 'Could not enable tracing: execution traces are those of the Go runtime'],
];

for (const [name, query, status, text] of REFUSED) {
  test(`/debug/pprof/${name}?${query} is ${status}`, async () => {
    const answer = await (await setUp()).ask(name, query);
    assert.deepEqual([answer.status, answer.body, answer.headers?.['x-go-pprof']], [status, `${text}\n`, '1']);
  });
}

test('/debug/pprof/cmdline has the arguments with NUL between them', async () => {
  assert.equal((await (await setUp()).ask('cmdline')).body, 'nodelet\0kubelet\0--v=2');
});

test('/debug/pprof/profile lasts as long as asked, 30 seconds otherwise', async () => {
  for (const [query, seconds] of [
    ['seconds=3', 3],
    ['', 30],
    ['seconds=-1', 30],
  ] as const) {
    const { ask, clock } = await setUp();
    const answer = ask('profile', query);
    await clock.advance(1000 * seconds - 1);
    assert.equal(await Promise.race([answer, 'runs']), 'runs');
    await clock.advance(1);
    const { status, headers } = await answer;
    assert.deepEqual([status, headers?.['content-disposition']], [200, 'attachment; filename="profile"']);
  }
});

test('one CPU profile is taken at a time', async () => {
  const { ask, clock } = await setUp();
  const first = ask('profile', 'seconds=1');
  const second = await ask('profile', 'seconds=1');
  const busy = 'Could not enable CPU profiling: cpu profiling already in use\n';
  assert.deepEqual([second.status, second.body], [500, busy]);
  await clock.advance(1000);
  assert.equal((await first).status, 200);
  const third = ask('profile', 'seconds=1');
  await clock.advance(1000);
  assert.equal((await third).status, 200);
});

test('a client that leaves ends its profile', async () => {
  const { ask, leave, profiler, clock } = await setUp();
  const answer = ask('profile', 'seconds=3000');
  leave();
  await answer;
  const next = profiler.cpu(1, new AbortController().signal); // it is not in use any more
  await clock.advance(1);
  assert.equal((await next).durationMs, 1);
});

test('a profile is compressed, and has its functions in it', async () => {
  const { ask, clock } = await setUp();
  const answer = ask('heap', 'seconds=1');
  await clock.advance(1000);
  const { headers, body, ...rest } = await answer;
  assert.equal(headers?.['content-disposition'], 'attachment; filename="heap-delta"');
  const text = gunzipSync(await bodyOf({ headers, body, ...rest })).toString('latin1');
  for (const each of ['work', '/src/work.ts', 'inuse_space', 'bytes']) assert.ok(text.includes(each), each);
});

test('a heap profile is text for people with ?debug=1', async () => {
  const { ask, clock } = await setUp();
  const answer = ask('heap', 'debug=1');
  await clock.advance(5000);
  assert.equal((await answer).body, 'heap profile: 3: 3000\n3: 3000\n#\twork\t/src/work.ts:7\n');
});
