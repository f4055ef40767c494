import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PullProgress, PullWatcher } from '../../runtime/images/image-puller.ts';
import { scriptedContext } from '../fake/scripted-context.ts';
import { createOutput } from './output.ts';
import { redrawSequence, showPull } from './pull-screen.ts';
import type { TerminalSize } from './terminal.ts';

const LAYER = { digest: `sha256:${'a'.repeat(64)}`, sizeBytes: 1000 };
const RESOLVED: PullProgress = { kind: 'resolved', digest: 'sha256:1', source: 'http://here/v2', layers: [LAYER] };
const coming = (receivedBytes: number): PullProgress => ({
  kind: 'layer',
  digest: LAYER.digest,
  state: { phase: 'coming', receivedBytes },
});
const DONE: PullProgress = { kind: 'layer', digest: LAYER.digest, state: { phase: 'done' } };

function screen(isTerminal: boolean, sizes: readonly TerminalSize[] = [], env: Record<string, string> = {}) {
  const writes: string[] = [];
  const { host, context } = scriptedContext({
    terminal: {
      stderr: createOutput({ isTerminal, env, write: async (text) => void writes.push(String(text)) }),
      async *sizes() {
        yield* sizes;
      },
    },
  });
  const { clock } = host;
  const show = (pull: (watch: PullWatcher) => Promise<string>) =>
    clock.runUntil(showPull('app:1', { terminal: context.terminal, clock }, pull));
  return { writes, clock, show };
}

const never = new AbortController().signal;

test('showPull() draws at once, at most ten times a second, and the end as it was', async () => {
  const { writes, clock, show } = screen(true);
  const answer = await show(async (watch) => {
    watch(RESOLVED);
    for (let received = 1; received <= 1000; received++) {
      watch(coming(received));
      await clock.sleep(1, never);
    }
    watch(DONE);
    return 'pulled';
  });
  assert.equal(answer, 'pulled');
  assert.ok(writes.length >= 10 && writes.length <= 12, `${writes.length} times`);
  const end = ['app:1  from http://here/v2  1.0kB of 1.0kB', `  ${'a'.repeat(12)}  done  1.0kB`];
  assert.equal(writes.at(-1), redrawSequence(end, 2));
});

test('showPull() draws as wide as the terminal is', async () => {
  const { writes, clock, show } = screen(true, [{ columns: 20, rows: 24 }]);
  await show(async (watch) => {
    await clock.sleep(1, never);
    watch(RESOLVED);
    return '';
  });
  assert.equal(writes.at(-1), redrawSequence(['app:1  from http://', '  aaaaaaaaaaaa  wai'], 1));
});

test('showPull() draws on a terminal without a size', async () => {
  const { writes, clock, show } = screen(true, [{ columns: 0, rows: 0 }]);
  await show(async (watch) => {
    await clock.sleep(1, never);
    watch(RESOLVED);
    return '';
  });
  assert.equal(
    writes.at(-1),
    redrawSequence(['app:1  from http://here/v2  0B of 1.0kB', '  aaaaaaaaaaaa  waiting  1.0kB'], 1),
  );
});

test('showPull() does not redraw unchanged lines', async () => {
  const { writes, clock, show } = screen(true);
  await show(async (watch) => {
    for (let times = 0; times < 10; times++) {
      watch(RESOLVED);
      await clock.sleep(200, never);
    }
    return '';
  });
  assert.equal(writes.length, 1);
});

test('showPull() writes lines where there is no terminal', async () => {
  const { writes, show } = screen(false);
  await show(async (watch) => {
    watch(RESOLVED);
    watch(coming(500));
    watch(DONE);
    return '';
  });
  assert.equal(writes.join(''), `${'a'.repeat(12)}  done  1.0kB\n`);
});

test('showPull() shows where a pull failed, and rejects as it did', async () => {
  const { writes, show } = screen(true);
  const failed = show(async (watch) => {
    watch(RESOLVED);
    watch(coming(250));
    throw new Error('no luck');
  });
  await assert.rejects(failed, { message: 'no luck' });
  assert.match(writes.join(''), /25% {2}250B of 1.0kB/);
});

test('showPull() moves no cursor on a dumb terminal', async () => {
  const { writes, show } = screen(true, [], { TERM: 'dumb' });
  await show(async (watch) => {
    watch(RESOLVED);
    watch(DONE);
    return '';
  });
  assert.equal(writes.join(''), `${'a'.repeat(12)}  done  1.0kB\n`);
});

test('showPull() shows escape sequences of a registry', async () => {
  for (const env of [{}, { TERM: 'dumb' }]) {
    const { writes, show } = screen(true, [], env);
    await show(async (watch) => {
      watch(RESOLVED);
      const state = { phase: 'retrying', receivedBytes: 0, reason: 'bad\u001b]0;title\u0007' } as const;
      watch({ kind: 'layer', digest: LAYER.digest, state });
      return '';
    });
    assert.match(writes.join(''), /bad\^\[\]0;title\^G/);
    assert.ok(!writes.join('').includes('\u001b]'));
  }
});

test('showPull() continues when the output is closed', async () => {
  const { context, host } = scriptedContext({
    terminal: { stderr: createOutput({ isTerminal: true, env: {}, write: () => Promise.reject(new Error('EPIPE')) }) },
  });
  const pulled = showPull('app:1', { terminal: context.terminal, clock: host.clock }, async () => 'pulled');
  assert.equal(await pulled, 'pulled');
});

test('redrawSequence() replaces the previous lines, and nothing above', () => {
  assert.equal(redrawSequence(['a', 'b'], 0), '\ra\u001b[K\nb\u001b[K\n\u001b[J');
  assert.equal(redrawSequence(['a'], 2), '\u001b[2A\ra\u001b[K\n\u001b[J');
});
