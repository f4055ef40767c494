import { ChangeSignal } from '../../base/change-signal.ts';
import { CriError } from '../../cri/cri-error.ts';
import type { Clock } from '../../host/clock.ts';
import type { PullProgress, PullWatcher } from '../../runtime/images/image-puller.ts';
import type { NamedImage } from './image-operations.ts';
import { type EncodedError, encodeError, decodeError } from './encoded-error.ts';

/** As often as anybody looks at it. */
const PAUSE_MS = 100;

/** A line for another process. The last one is the result or the refusal; without it the pull broke off. */
type PullEvent = { readonly progress: PullProgress } | { readonly result: NamedImage } | { readonly refusal: EncodedError };

/** How a pull goes on, and how it ends, in lines of JSON. Of what changes faster than it is told only the last is. */
export async function* pullEvents(
  pull: (watch: PullWatcher) => Promise<NamedImage>,
  clock: Pick<Clock, 'sleep'>,
): AsyncGenerator<string, void, void> {
  const bell = new ChangeSignal();
  const over = new AbortController();
  /** By what they speak of, the image itself first. */
  const pending = new Map<string, PullProgress>();
  const watch: PullWatcher = (progress) => {
    pending.set(progress.kind === 'resolved' ? '' : progress.digest, progress);
    bell.notify();
  };
  const ended = awaitPull(pull(watch)).finally(() => {
    bell.close();
    over.abort();
  });
  while (await bell.next()) {
    yield* takePending(pending);
    await clock.sleep(PAUSE_MS, over.signal).catch(() => {}); // the end is told at once
  }
  yield* takePending(pending);
  yield encodeLine(await ended);
}

/** The other side. Rejects with the refusal, or with what `body` throws. */
export async function readPullEvents(
  body: AsyncIterable<Uint8Array>,
  watch: PullWatcher | undefined,
): Promise<NamedImage> {
  for await (const text of splitLines(body)) {
    const event = JSON.parse(text) as PullEvent; // as `pullEvents` of the same version wrote it
    if ('result' in event) return event.result;
    if ('refusal' in event) throw decodeError(event.refusal);
    watch?.(event.progress);
  }
  throw new CriError('Unavailable', 'the runtime ended before the pull did');
}

async function awaitPull(pull: Promise<NamedImage>): Promise<PullEvent> {
  try {
    return { result: await pull };
  } catch (error) {
    return { refusal: encodeError(error) };
  }
}

function* takePending(untold: Map<string, PullProgress>): Generator<string, void, void> {
  const all = [...untold.values()];
  untold.clear();
  if (all.length > 0) yield all.map((progress) => encodeLine({ progress })).join('');
}

function encodeLine(event: PullEvent): string {
  return `${JSON.stringify(event)}\n`;
}

async function* splitLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const [first = '', ...others] = decoder.decode(chunk, { stream: true }).split('\n');
    rest += first;
    for (const other of others) {
      yield rest;
      rest = other;
    }
  }
}
