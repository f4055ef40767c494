import type { ByteStream } from '../network.ts';
import { DirectionalQueue } from './directional-queue.ts';

/** Both ends of one connection; aborting `severed` disconnects both. */
export function byteStreamPair(severed?: AbortSignal): readonly [ByteStream, ByteStream] {
  const [forth, back] = [new DirectionalQueue('bytes'), new DirectionalQueue('bytes')];
  const close = (): void => {
    forth.close();
    back.close();
    severed?.removeEventListener('abort', close);
  };
  severed?.addEventListener('abort', close, { once: true });
  const side = (incoming: DirectionalQueue, outgoing: DirectionalQueue): ByteStream => ({
    chunks: incoming.queue,
    write: (data) => outgoing.send(data),
    end: () => outgoing.end(),
    close,
  });
  return [side(back, forth), side(forth, back)];
}
