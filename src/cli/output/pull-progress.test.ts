import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LayerState, PullProgress } from '../../runtime/images/image-puller.ts';
import { beginPull, changedLayerLines, nextPullState, type PullState, pullLines } from './pull-progress.ts';

const WIDE = { columns: 80, rows: 24 };
const SOURCE = 'https://registry-1.docker.io/v2';

/** Layers are `000000000001…` and so on, of 4 MB each. */
const digestOf = (number: number): string => `sha256:${String(number).padStart(12, '0').padEnd(64, 'f')}`;

function pullOf(...states: readonly LayerState[]): PullState {
  const layers = states.map((_, index) => ({ digest: digestOf(index + 1), sizeBytes: 4_000_000 }));
  const resolved: PullProgress = { kind: 'resolved', digest: 'sha256:1', source: SOURCE, layers };
  const begun = nextPullState(beginPull('busybox:1.36'), resolved);
  return states.reduce(
    (state, each, index) => nextPullState(state, { kind: 'layer', digest: digestOf(index + 1), state: each }),
    begun,
  );
}

const HALF: LayerState = { phase: 'coming', receivedBytes: 2_100_000 };
const LOST: LayerState = { phase: 'retrying', receivedBytes: 1_000_000, reason: 'read ECONNRESET' };
const PRESENT: LayerState = { phase: 'present' };
const WAITING: LayerState = { phase: 'waiting' };
const DONE: LayerState = { phase: 'done' };

const drawings: Record<string, { state: PullState; size?: typeof WIDE; lines: readonly string[] }> = {
  'an image that is being resolved': { state: beginPull('busybox:1.36'), lines: ['busybox:1.36  …'] },
  'each layer as it is': {
    state: pullOf(PRESENT, HALF, LOST, WAITING, DONE),
    lines: [
      'busybox:1.36  from https://registry-1.docker.io/v2  7.1MB of 16.0MB',
      '  000000000001  already here',
      '  000000000002  [===============>              ]  52%  2.1MB of 4.0MB',
      '  000000000003  trying again at 1.0MB of 4.0MB: read ECONNRESET',
      '  000000000004  waiting  4.0MB',
      '  000000000005  done  4.0MB',
    ],
  },
  'the beginning and the end of a bar': {
    state: pullOf({ phase: 'coming', receivedBytes: 0 }, { phase: 'coming', receivedBytes: 4_000_000 }),
    size: { columns: 60, rows: 24 },
    lines: [
      'busybox:1.36  from https://registry-1.docker.io/v2  4.0MB o',
      '  000000000001  [>               ]   0%  0B of 4.0MB',
      '  000000000002  [================] 100%  4.0MB of 4.0MB',
    ],
  },
  'a narrow terminal without bars': {
    state: pullOf(HALF),
    size: { columns: 44, rows: 24 },
    lines: ['busybox:1.36  from https://registry-1.docke', '  000000000001  52%  2.1MB of 4.0MB'],
  },
  'a low terminal with transfers first': {
    state: pullOf(DONE, PRESENT, WAITING, WAITING, HALF, DONE, LOST),
    size: { columns: 80, rows: 6 },
    lines: [
      'busybox:1.36  from https://registry-1.docker.io/v2  11.1MB of 24.0MB',
      '  000000000003  waiting  4.0MB',
      '  000000000005  [===============>              ]  52%  2.1MB of 4.0MB',
      '  000000000007  trying again at 1.0MB of 4.0MB: read ECONNRESET',
      '  and 4 more, 3 of them here',
    ],
  },
  'an image without layers': {
    state: pullOf(),
    lines: ['busybox:1.36  from https://registry-1.docker.io/v2  all here'],
  },
  'an image of which everything is here': {
    state: pullOf(PRESENT),
    lines: ['busybox:1.36  from https://registry-1.docker.io/v2  all here', '  000000000001  already here'],
  },
};

for (const [what, { state, size = WIDE, lines }] of Object.entries(drawings)) {
  test(`pullLines() draws ${what}`, () => {
    assert.deepEqual(pullLines(state, size), lines);
  });
}

test('pullLines() is never wider or higher than the terminal', () => {
  const states = Array.from({ length: 40 }, (_, index) => [HALF, LOST, WAITING, DONE][index % 4] ?? DONE);
  for (let columns = 20; columns < 120; columns++) {
    for (const rows of [5, 10, 24, 60]) {
      const lines = pullLines(pullOf(...states), { columns, rows });
      assert.ok(lines.length < rows, `${lines.length} of ${rows} rows`);
      assert.ok(lines.every((line) => line.length < columns));
    }
  }
});

test('changedLayerLines() returns complete and retried layers once', () => {
  const [before, after] = [pullOf(HALF, HALF, WAITING, DONE), pullOf(DONE, LOST, HALF, DONE)];
  assert.deepEqual(changedLayerLines(before, after), [
    '000000000001  done  4.0MB',
    '000000000002  trying again at 1.0MB of 4.0MB: read ECONNRESET',
  ]);
  assert.deepEqual(changedLayerLines(beginPull('busybox:1.36'), pullOf(PRESENT)), ['000000000001  already here']);
  assert.deepEqual(changedLayerLines(after, after), []);
});
