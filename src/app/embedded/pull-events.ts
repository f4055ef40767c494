import { ChangeSignal } from '../../base/change-signal.ts';
import { CriError } from '../../cri/cri-error.ts';
import type { Clock } from '../../host/clock.ts';
import type { PullProgress, PullWatcher } from '../../runtime/images/image-puller.ts';
import { decodeError, type EncodedError, encodeError } from './encoded-error.ts';
import type { NamedImage } from './image-operations.ts';

/** The shortest interval between two lines of progress. */
const INTERVAL_MS = 100;

/** A line to another process. The last one is the result or the error; without it the runtime has exited. */
type PullEvent =
  | { readonly progress: PullProgress }
  | { readonly result: NamedImage }
  | { readonly error: EncodedError };

/** The progress and the result of a pull in lines of JSON. Only the latest progress of each layer is sent. */
export async function* pullEvents(
  pull: (watch: PullWatcher) => Promise<NamedImage>,
  clock: Pick<Clock, 'sleep'>,
): AsyncGenerator<string, void, void> {
  const bell = new ChangeSignal();
  const over = new AbortController();
  /** By layer digest; the image itself has an empty key. */
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
    await clock.sleep(INTERVAL_MS, over.signal).catch(() => {}); // the result is sent at once
  }
  yield* takePending(pending);
  yield encodeLine(await ended);
}

/** Reads them. Rejects with the encoded error, or with the error of `body`. */
export async function readPullEvents(
  body: AsyncIterable<Uint8Array>,
  watch: PullWatcher | undefined,
): Promise<NamedImage> {
  for await (const text of splitLines(body)) {
    const event = JSON.parse(text) as PullEvent; // written by `pullEvents` of the same version
    if ('result' in event) return event.result;
    if ('error' in event) throw decodeError(event.error);
    watch?.(event.progress);
  }
  throw new CriError('Unavailable', 'the runtime ended before the pull did');
}

async function awaitPull(pull: Promise<NamedImage>): Promise<PullEvent> {
  try {
    return { result: await pull };
  } catch (error) {
    return { error: encodeError(error) };
  }
}

function* takePending(pending: Map<string, PullProgress>): Generator<string, void, void> {
  const all = [...pending.values()];
  pending.clear();
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
