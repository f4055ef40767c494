import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CriError } from '../../cri/cri-error.ts';
import { examplePod } from './config/pod.fixture.ts';
import { readPodState } from './read-pod-state.ts';

const recorded: string[] = [];
const events = { record: (_: unknown, ...event: unknown[]) => void recorded.push(event.join(' ')) };

test('readPodState() records the error of the runtime, and passes it on', async () => {
  recorded.length = 0;
  const error = new CriError('Unavailable', 'the runtime is gone');
  const { signal } = new AbortController();
  await assert.rejects(
    readPodState(examplePod(), () => Promise.reject(error), events, signal),
    error,
  );
  assert.deepEqual(recorded, [
    'Warning FailedSync error determining status: rpc error: code = Unavailable desc = the runtime is gone',
  ]);
});

test('readPodState() records nothing of an abort', async () => {
  recorded.length = 0;
  const abort = new AbortController();
  abort.abort();
  await assert.rejects(
    readPodState(examplePod(), () => Promise.reject(new Error('late')), events, abort.signal),
    abort.signal.reason,
  );
  assert.deepEqual(recorded, []);
});
