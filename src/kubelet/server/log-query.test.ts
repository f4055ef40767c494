import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LogQuery, logQuery } from './log-query.ts';

const ALL: LogQuery = {
  follow: false,
  previous: false,
  timestamps: false,
  tailLines: undefined,
  limitBytes: undefined,
  since: undefined,
  stream: undefined,
};

const UNDECODABLE = { status: 400, message: '{"message": "Unable to decode query."}' };
const INVALID = { status: 422, message: '{"message": "Invalid request."}' };

for (const [query, wanted] of [
  ['', {}],
  ['follow=true&timestamps=1&previous=false', { follow: true, timestamps: true }],
  ['tailLines=5', { tailLines: 5 }],
  ['tailLines=0', { tailLines: 0 }],
  ['tail=7&tailLines=5', { tailLines: 7 }],
  ['tail=all&tailLines=5', {}],
  ['limitBytes=10', { limitBytes: 10 }],
  ['sinceSeconds=60', { since: { seconds: 60 } }],
  ['sinceTime=2026-01-01T00:00:00Z', { since: { timeMs: 1_767_225_600_000 } }],
  ['stream=All&tailLines=5', { tailLines: 5 }],
  ['stream=Stdout', { stream: 'stdout' }],
  ['stream=Stderr', { stream: 'stderr' }],
] as const) {
  test(`logQuery(): ${query || 'nothing'}`, () => {
    assert.deepEqual(logQuery(new URLSearchParams(query), true), { ...ALL, ...wanted });
  });
}

for (const [query, error] of [
  ['tailLines=some', UNDECODABLE],
  ['sinceTime=yesterday', UNDECODABLE],
  ['tailLines=-1', INVALID],
  ['limitBytes=0', INVALID],
  ['sinceSeconds=0', INVALID],
  ['sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z', INVALID],
  ['stream=Both', INVALID],
  ['stream=Stdout&tailLines=1', INVALID],
] as const) {
  test(`logQuery() rejects ${query} with ${error.status}`, () => {
    assert.throws(() => logQuery(new URLSearchParams(query), true), error);
  });
}

test('logQuery(): one stream alone needs the feature gate', () => {
  assert.deepEqual(logQuery(new URLSearchParams('stream=All'), false), ALL);
  assert.throws(() => logQuery(new URLSearchParams('stream=Stderr'), false), {
    status: 400,
    message:
      'unable to return the given log stream: "Stderr". Please enable PodLogsQuerySplitStreams feature gate in kubelet',
  });
});
