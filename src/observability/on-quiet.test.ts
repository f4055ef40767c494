import assert from 'node:assert/strict';
import { tracingChannel } from 'node:diagnostics_channel';
import { test } from 'node:test';
import { RPC_CHANNEL } from '../cri/instrument.ts';
import { VirtualClock } from '../host/fake/virtual-clock.ts';
import { onQuiet } from './on-quiet.ts';

const channel = tracingChannel<object>(RPC_CHANNEL);

function quiet() {
  const clock = new VirtualClock();
  const life = new AbortController();
  const seen = { tidied: 0 };
  onQuiet({ clock, tidy: () => seen.tidied++ }, life.signal);
  return { clock, life, seen, ended: (method: string) => channel.asyncEnd.publish({ method }) };
}

test('onQuiet() tidies once, a while after the last change', async () => {
  const { clock, life, seen, ended } = quiet();
  ended('StartContainer');
  await clock.advance(1_000);
  ended('StopContainer');
  await clock.advance(1_400);
  assert.equal(seen.tidied, 0);
  await clock.advance(100);
  assert.equal(seen.tidied, 1);
  await clock.advance(60_000);
  assert.equal(seen.tidied, 1);
  life.abort();
});

test('onQuiet() ignores calls that only read, and of what comes after its end', async () => {
  const { clock, life, seen, ended } = quiet();
  for (const method of ['ListContainers', 'ExecSync', 'Status']) ended(method);
  await clock.advance(60_000);
  ended('StartContainer');
  life.abort();
  ended('StartContainer');
  await clock.advance(60_000);
  assert.equal(seen.tidied, 0);
});
